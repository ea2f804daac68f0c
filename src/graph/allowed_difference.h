// Differences from default XLA's outputs that are allowed on inputs of some kinds, and why
// (docs/decisions/0072-checked-on-many-inputs.md).
#pragma once

#include "graph/decision.h"
#include "graph/input_kind.h"

namespace hone {

// `special_alone`: all values that differ are finite in one alone, or another NaN or infinity.
bool allows_difference(const Decisions& decisions, InputKind inputs, bool special_alone);

}  // namespace hone
