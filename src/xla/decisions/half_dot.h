// Dots of half-precision numbers with a result of the same type or of f32, for which XLA:CPU has no library: it converts both operands
// to f32 on every run, weights included.
//
// bf16 has forms for YNNPACK and a kernel of few rows. YNNPACK has no dots of f16: these have the kernel of few rows, and oneDNN's
// dots of f32, for which weights that are declared are converted once.
//
// Dots of f32 of a few rows with weights of bytes (quantized_weights.h) have the kernel of few rows; those of more rows are like others
// of f32.
#pragma once

#include <string>
#include <vector>

#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

// Whether the kernel of few rows reads the weights of a dot as the bytes that they are made of: a dot of f32 of a few rows.
bool reads_bytes(const xla::HloInstruction& dot);
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
