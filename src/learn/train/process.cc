#include "learn/train/process.h"

#include <malloc.h>

namespace hone::learn {

void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 2147483647);
  mallopt(M_TOP_PAD, 256 << 20);
}

}  // namespace hone::learn
