// Expands convolutions and poolings that XLA:CPU computes slowly, before any of XLA's passes: a grouped convolution with few
// input features per group (depthwise ones and their gradients) becomes a sum of shifted slices times
// weights, a pooling the maximum or sum of shifted slices. XLA:CPU has no library for these and does not vectorize its
// own loops over windows; as elementwise operations they become one fused, vectorized kernel.
#pragma once
#include <map>
#include <string>

#include "graph/decision.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

// The convolutions and poolings of a loaded program that can be expanded, by key (graph/decision_families.def), with
// the number of elementwise operations this takes, summed over those that share the key.
std::map<std::string, double> expandable_operations(const xla::HloModule& module);

// Expands those decided as "shifted". Throws Error for keys the program does not have and for other values.
void expand_convolutions_and_poolings(xla::HloModule& module, const Decisions& decisions);

}  // namespace hone::xla_side
