// What XLA's HLO interpreter takes for a program, and the same program in a form that it runs sooner.
#pragma once
#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

// Reductions of static shapes by one operation that may be regrouped become log2(n) steps over whole arrays: the interpreter takes 2 us for every element that a reducer is run
// for, and 0.1 us so. Neighbours are combined, so that the order is kept. Sums of floats stay, which it adds in f64, 8 ns for each.
absl::Status halve_reductions(xla::HloModule& module);

// Seconds on one core, to a factor of about two: what each kind of instruction took for an element (a Xeon at 2 to 3 GHz, XLA of TensorFlow
// 2.21), times all steps of loops whose number XLA knows (WhileLoopTripCountAnnotator has run), else one.
double interpreter_seconds(const xla::HloModule& module);

}  // namespace hone::xla_side
