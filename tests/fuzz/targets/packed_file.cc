// Files that may be packed with gzip, as every file that Hone reads.
#include "base/files.h"
#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

void packed_file(Bytes input) {
  constexpr uint64_t kMost = uint64_t{64} << 20;
  const MemoryFile file(input);
  expect_errors([&] { read_file(file.path(), kMost); });
}

}  // namespace hone::fuzz
