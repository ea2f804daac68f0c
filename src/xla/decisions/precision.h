// Lower precision on request: weights of f32 stored in bf16, and the dots that read them multiply bf16 and sum in f32.
#pragma once

#include <vector>

#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

struct LoweredPrecision {
  std::vector<int> weights;  // parameters that are bf16 now
  int dots = 0;
};

// Changes the module: of the declared weights those that nothing but dots and gathers read, in any order of their dimensions. Other
// parameters and all results keep their types. Throws Error where there is no such weight.
LoweredPrecision lower_precision(xla::HloModule& module, const std::vector<int>& weights);

}  // namespace hone::xla_side
