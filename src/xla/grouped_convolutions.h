// Convolutions with one input feature per group (depthwise ones, and the gradients that belong to them) as shifted
// multiply-adds: a slice of the input times one weight per feature, summed over the positions of the window. XLA:CPU has no
// library for these convolutions and no loops that vectorise over features; as elementwise operations they become one
// fused, vectorised kernel.
#pragma once
#include <map>
#include <string>

#include "graph/decision.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

// The grouped convolutions of a program as loaded, by key (graph/library_keys.h), each with its multiply-adds, over all that
// share the key.
std::map<std::string, double> grouped_convolutions(const xla::HloModule& module);

// Rewrites those decided as "multiply-add". Throws Error for keys no convolution has and for other values.
void apply_convolution_decisions(xla::HloModule& module, const Decisions& decisions);

}  // namespace hone::xla_side
