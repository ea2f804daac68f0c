// Dense convolutions by Winograd's method, written in HLO: transforms of the input and of the weights as slices and sums, one
// batched dot, a transform of its result. Fewer multiplications (F(4x4,3x3): a quarter) for larger rounding errors.
#pragma once

#include <string>

#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

// Adds the arithmetic that replaces the convolution to its computation, and returns the result. Weights that are a constant
// are transformed here. Throws Error for another form than such convolutions have.
xla::HloInstruction* winograd_convolution(xla::HloInstruction* conv, const std::string& form);

}  // namespace hone::xla_side
