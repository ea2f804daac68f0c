// Lower precision on request: weights of f32 stored in bf16, and the dots that read them multiply bf16 and sum in f32.
#pragma once

#include <vector>

#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

struct LoweredPrecision {
  std::vector<int> weights;  // parameters of another type now
  int dots = 0;
};

// Changes the module: of the declared weights those that nothing but dots and gathers read, in any order of their dimensions. Other
// parameters and all results keep their types. Throws Error where there is no such weight.
LoweredPrecision lower_precision(xla::HloModule& module, const std::vector<int>& weights);

// The declared parameter. Throws Error where there is none.
xla::HloInstruction* weight_parameter(const xla::HloComputation& entry, int number);

// Gives a parameter another element type. Its readers have to be changed: until then they read a stand-in of the former type.
struct RetypedParameter {
  xla::HloInstruction* stand_in;
  xla::HloInstruction* parameter;
};
RetypedParameter retype_parameter(xla::HloComputation& entry, int number, xla::PrimitiveType type);

}  // namespace hone::xla_side
