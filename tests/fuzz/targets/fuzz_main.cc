// The entry of libFuzzer, for the target that HONE_FUZZ_TARGET names.
#include "tests/fuzz/targets/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hone::fuzz::HONE_FUZZ_TARGET({data, size});
  return 0;
}
