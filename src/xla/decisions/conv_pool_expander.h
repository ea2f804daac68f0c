// Expands convolutions and poolings that XLA:CPU computes slowly, before any of XLA's passes: a grouped convolution with few
// input features per group (depthwise ones and their gradients) becomes a sum of shifted slices times
// weights, a pooling the maximum or sum of shifted slices. XLA:CPU has no library for these and does not vectorize its
// own loops over windows; as elementwise operations they become one fused, vectorized kernel.
#pragma once

#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

// Convolutions: with few features per group; the gradient of such weights.
bool is_expandable_convolution(const xla::HloInstruction& op);
bool is_expandable_gradient(const xla::HloInstruction& op);
// A pooling: one array, a reducer of one operation on its two parameters.
bool is_expandable_pooling(const xla::HloInstruction& op);

// The number of elementwise operations that the expanded form takes.
double expanded_operations(const xla::HloInstruction& op);

}  // namespace hone::xla_side
