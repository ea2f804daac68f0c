// Splits of the programs of a data set.
#include "data/dataset.h"
#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

void split(Bytes input) {
  const MemoryFile file(input);
  expect_errors([&] { Split::read(file.path()); });
}

}  // namespace hone::fuzz
