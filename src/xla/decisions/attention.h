// Softmax between two dots: attention.
#pragma once

#include <string>

#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

inline constexpr char kLateDivision[] = "late-division";

// Whether a dot's first operand is a quotient whose divisor is the same for all elements that are contracted.
bool is_attention(const xla::HloInstruction& op);

// The shapes of both operands.
std::string attention_key(const xla::HloInstruction& op);

// The dot of the dividends, divided afterwards: of fewer elements. Where the dividends are exponentials of another dot's scaled
// result, that dot's first operand is scaled instead. Throws Error where is_attention is false.
xla::HloInstruction* late_division(xla::HloInstruction* op);

}  // namespace hone::xla_side
