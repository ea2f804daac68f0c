// Dots that libraries are called for in vain: batches of small matrices, and integers.
#pragma once

#include <string>
#include <vector>

#include "graph/operation_key.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

// {"products"} for many small matrices of f32 or f64, {"onednn"} for matrices of signed 8-bit integers with a 32-bit result, else
// empty.
std::vector<std::string> small_dot_forms(const xla::HloInstruction& op);

// The same dot as a sum of products that XLA compiles into one loop, or as a call of oneDNN. Throws Error for values that
// small_dot_forms does not give.
xla::HloInstruction* small_dot(xla::HloInstruction* dot, const std::string& value);

}  // namespace hone::xla_side
