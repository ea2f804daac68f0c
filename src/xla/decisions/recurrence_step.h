// One step of a loop as the small program that kernels/recurrence.h runs.
#pragma once

#include <optional>

#include "decisions/recurrence_operands.h"
#include "decisions/recurrent_loop.h"
#include "kernels/recurrence_plan.h"

namespace hone::xla_side {

// Operands and results are numbered as the kernel's: results are the parts of the state that are carried, then those that are
// written, each in the order of the state.
struct PlannedLoop {
  RecurrencePlan plan;
  RecurrenceOperands operands;
  bool has_dots = false;  // that depend on the step before
};

// nullopt where a step does something else: other types than f32, operations between the columns other than dots with matrices that
// no step changes, or indices.
std::optional<PlannedLoop> planned_loop(const RecurrentLoop& loop);

}  // namespace hone::xla_side
