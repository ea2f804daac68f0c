// Winograd's method by one custom call (kernels/winograd.h).
#pragma once

#include "kernels/winograd_plan.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

inline constexpr char kWinogradTarget[] = "hone.winograd";  // attribute "plan": WinogradPlan

// Adds the call to the computation of its operands: f32[batch, rows, columns, features] and transformed weights as the plan has
// them. The result is f32[batch, rows, columns, results].
xla::HloInstruction* winograd_call(const WinogradPlan& plan, xla::HloInstruction* input, xla::HloInstruction* weights);

}  // namespace hone::xla_side
