// Cumulative sums in one pass, where XLA adds up a window for each element.
#pragma once

#include <string>

#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

inline constexpr char kOnePass[] = "one-pass";

// Whether a sum over windows has one dimension whose windows all begin at the first or end at the last element.
bool is_cumulative_sum(const xla::HloInstruction& op);

// The same sums as a custom call. Throws Error where is_cumulative_sum is false.
xla::HloInstruction* one_pass_sum(xla::HloInstruction* op);

}  // namespace hone::xla_side
