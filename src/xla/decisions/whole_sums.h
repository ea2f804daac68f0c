// Sums of all elements of a large array by a kernel, where XLA's loop waits for its additions.
#pragma once

#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

inline constexpr char kVectorSums[] = "vector-sums";

// Whether a reduction adds all elements of an array of f32 or f64 that is in memory anyway: what is computed element by
// element XLA fuses with its sum.
bool is_whole_sum(const xla::HloInstruction& op);

// The same sum as a custom call. Throws Error where is_whole_sum is false.
xla::HloInstruction* sum_by_vectors(xla::HloInstruction* op);

}  // namespace hone::xla_side
