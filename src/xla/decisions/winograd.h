// Dense convolutions by Winograd's method, written in HLO: transforms of the input and of the weights as slices and sums, one
// batched dot, a transform of its result. Fewer multiplications (F(4x4,3x3): a quarter) for larger rounding errors.
#pragma once

#include <string>
#include <vector>

#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

// The forms (graph/winograd_form.h) that are worth trying for this operation, by estimated time; empty for anything but a
// convolution of floats over one or two spatial dimensions, without groups, strides and dilation.
std::vector<std::string> winograd_forms(const xla::HloInstruction& op);

// Adds the arithmetic that replaces the convolution to its computation, and returns the result. Weights that are a constant
// are transformed here. Throws Error for another form than such convolutions have.
xla::HloInstruction* winograd_convolution(xla::HloInstruction* conv, const std::string& form);

// Multiplications and additions of the convolution as it stands.
double convolution_flops(const xla::HloInstruction& conv);

}  // namespace hone::xla_side
