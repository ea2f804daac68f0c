// The gradient of a pooling by maximum or minimum (select-and-scatter) as shifted slices.
#pragma once

#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

// Scatters by adding to zero, selects by >= or <=, with windows of at most 64 positions.
bool is_expandable_scatter(const xla::HloInstruction& op);

// Which position of each window is selected, as one array; then, for each remainder of a place by the strides, the sum of what
// the windows that reach such places scatter there; the remainders interleaved. XLA:CPU's own expansion is a scatter that is not
// vectorized. Returns the result, in place of the operation.
xla::HloInstruction* shifted_scatter(xla::HloInstruction* scatter);

}  // namespace hone::xla_side
