// Dots of half-precision numbers with a result of the same type or of f32, for which XLA:CPU has no library: it converts both operands
// to f32 on every run, weights included.
#pragma once

#include <string>
#include <vector>

#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

// The values of graph/decision_family.h; empty for anything but such a dot.
std::vector<std::string> half_dot_forms(const xla::HloInstruction& op);
// Of a dot of f32 that is one product of matrices: {"few-rows"} where the matrix is large, since the same kernel reads it faster than
// the libraries do, and {"onednn"} where the library is there.
std::vector<std::string> float_dot_forms(const xla::HloInstruction& op);
xla::HloInstruction* float_dot(xla::HloInstruction* dot, const std::string& value);
double half_dot_flops(const xla::HloInstruction& op);
// Adds what replaces the dot to its computation, and returns the result. Throws Error for other values.
xla::HloInstruction* half_dot(xla::HloInstruction* dot, const std::string& value);

}  // namespace hone::xla_side
