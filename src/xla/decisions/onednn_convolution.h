// A convolution by the oneDNN that the wheel contains and no pass of its XLA calls.
#pragma once

#include <string>
#include <vector>

#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

inline constexpr char kOneDnn[] = "onednn";

// {"onednn"} for convolutions of f32 over one to three spatial dimensions, with strides, dilation of the window and groups of
// features, without negative padding and dilation of the input; else empty, also for products of two matrices.
std::vector<std::string> onednn_forms(const xla::HloInstruction& op);

// The same result as a custom call, with the dimensions in the order they have; returns it, in place of the operation. Throws
// Error for other convolutions.
xla::HloInstruction* onednn_convolution(xla::HloInstruction* conv);

}  // namespace hone::xla_side
