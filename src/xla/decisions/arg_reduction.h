// Where the largest or smallest element is (argmax, argmin) as two reductions of one array each.
#pragma once

#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

inline constexpr char kTwoReductions[] = "two-reductions";

// A reduction of values and their indices (an iota) over one dimension that prefers NaNs, then the larger (or smaller) value, then
// the smaller index: what JAX makes of argmax and argmin.
bool is_arg_reduction(const xla::HloInstruction& op);

// The largest value, then the smallest index of those equal to it. XLA:CPU vectorizes neither the reduction of two arrays nor
// its comparisons. Returns a tuple of both, in place of the operation.
xla::HloInstruction* two_reductions(xla::HloInstruction* op);

}  // namespace hone::xla_side
