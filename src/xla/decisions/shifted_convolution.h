// A grouped convolution or a pooling as elementwise operations on shifted slices of its input.
#pragma once

#include <cstdint>

#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

int64_t features_per_group(const xla::HloInstruction& convolution);
// The replacement of a convolution with feature or batch groups, in its computation, with its shape.
xla::HloInstruction* shifted_convolution(xla::HloInstruction* convolution);
// The same for a reduce-window of one array whose reducer is one operation.
xla::HloInstruction* shifted_pooling(xla::HloInstruction* reduce);

}  // namespace hone::xla_side
