// Object files with a kernel's code, and functions of code without a file around them.
#include "features/code_features.h"
#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

void machine_code(Bytes input) {
  if (take_choice(input, 2) == 0) {
    expect_errors([&] { features::code_features(features::summary_of_code({text_of(input)})); });
    return;
  }
  const features::ObjectFunction function{.name = "f", .exported = true, .code = input, .names = {}};
  features::CodeSummary summary;
  features::add_functions({&function, 1}, summary);
  features::code_features(summary);
}

}  // namespace hone::fuzz
