#include "learn/train/process.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <malloc.h>

namespace hone::learn {

void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 2147483647);
  mallopt(M_TOP_PAD, 256 << 20);
}

void begin_training(int threads) {
  keep_freed_memory();
  at::set_num_threads(threads);
  at::globalContext().setFlushDenormal(true);  // false where the processor cannot
}

}  // namespace hone::learn
