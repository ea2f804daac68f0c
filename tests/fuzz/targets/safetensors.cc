// safetensors files, and what was read written again.
#include "options/safetensors.h"

#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

void safetensors(Bytes input) {
  expect_errors([&] {
    const options::TensorFile file = options::decode_safetensors(text_of(input), "file");
    options::encode_safetensors(file);
  });
}

}  // namespace hone::fuzz
