// Powers with a constant exponent by an exponential function and a logarithm, which XLA computes for many elements at once.
#pragma once

#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

inline constexpr char kExponential[] = "exponential";

// Whether a power of f32 has one exponent for all elements that is neither whole nor a half, at most 16, and is worth while.
bool is_large_power(const xla::HloInstruction& op);

// exp(e log |x|), with the results for negative numbers and infinities that IEEE 754 gives the power. Its error relative to the result
// is about e |log x| units in the last place. Throws Error where is_large_power is false.
xla::HloInstruction* exponential_power(xla::HloInstruction* op);

}  // namespace hone::xla_side
