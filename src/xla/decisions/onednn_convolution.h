// A convolution by oneDNN: the library of its own where it is installed, together with what follows the convolution, else the
// one that the wheel contains and no pass of its XLA calls.
#pragma once

#include <string>
#include <vector>

#include "graph/operation_key.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

// {"onednn"} for convolutions of f32 over one to three spatial dimensions, with strides, dilation of the window and groups of
// features, without negative padding and dilation of the input; else empty, also for products of two matrices without the library.
std::vector<std::string> onednn_forms(const xla::HloInstruction& op);

// The same result as a custom call, to be put in the place of the operation; steps that it takes beside are replaced in the
// program. Throws Error for other convolutions.
xla::HloInstruction* onednn_convolution(xla::HloInstruction* conv);

}  // namespace hone::xla_side
