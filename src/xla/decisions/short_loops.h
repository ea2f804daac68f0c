// Loops of a few steps, written out, so that XLA fuses one step with the next.
#pragma once

#include <string>

#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

inline constexpr char kUnrolled[] = "unrolled";

// Whether a while loop has 2 to 8 steps of element-wise operations, moves and reductions.
bool is_short_loop(const xla::HloInstruction& op);

// What loops share that are unrolled together: number of steps, state.
std::string loop_key(const xla::HloInstruction& op);

// The state after all steps. Throws Error where is_short_loop is false.
xla::HloInstruction* unrolled_loop(xla::HloInstruction* op);

}  // namespace hone::xla_side
