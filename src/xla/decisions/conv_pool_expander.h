// Operations over windows as elementwise operations on shifted slices of their input: a grouped convolution with few input
// features per group (depthwise ones, and the gradients that belong to them) as a sum of slices times weights, a pooling as
// the maximum or sum of slices. XLA:CPU has no library for these and its loops over windows do not vectorise; as elementwise
// operations they become one fused, vectorised kernel.
#pragma once
#include <map>
#include <string>

#include "graph/decision.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

// What can be rewritten in a program as loaded, by key (graph/library_keys.h), each with the elementwise operations it takes,
// over all that share the key.
std::map<std::string, double> window_operations(const xla::HloModule& module);

// Rewrites those decided as "shifted". Throws Error for keys the program does not have and for other values.
void apply_window_decisions(xla::HloModule& module, const Decisions& decisions);

}  // namespace hone::xla_side
