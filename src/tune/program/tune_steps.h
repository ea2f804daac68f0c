// The steps of a tune of a program; program_tuner.cc lists them in their order and says when each applies. A step
// searches some of the decisions and leaves the best so far in the state. It does nothing without time or with nothing
// to decide, so any order after lower_default is valid. All throw Stopped as the measurer does.
#pragma once

#include <functional>

#include "graph/decision_family.h"
#include "tune/program/tune_state.h"

namespace hone::tune {

// When a step ends, in two forms; each step uses one of them.
struct StepTime {
  double until_s = 0;   // it ends when the search has no more than these seconds left
  double budget_s = 0;  // seconds that it may take
};

using StepFunction = std::function<void(TuneState& state, const StepTime& time)>;

// ---- preparation: none of these measures anything

// Lowers default XLA and lists the dimensions to decide. Must come first. Throws Error when XLA cannot lower the
// program.
void lower_default(TuneState& state, const StepTime& time);
// Lowers the best so far; the kernels to tune next are taken from it.
void lower_best(TuneState& state, const StepTime& time);
// Replaces the list of dimensions to decide with those of that lowering.
void list_dimensions(TuneState& state, const StepTime& time);
// Reserves `budget_s` for fusion.
void reserve_fusion_time(TuneState& state, const StepTime& time);

// ---- whole programs: by `until_s`

// Measures each proposed order of passes against the best so far. One that is close to the best is kept as a contender:
// it may be faster once its kernels are tuned. Needs OuterPlan::passes.
void order_passes(TuneState& state, const StepTime& time);
// The same for layouts, proposed for the program under the best so far. Needs OuterPlan::layouts.
void choose_layouts(TuneState& state, const StepTime& time);
// Tries the best contenders again, combined with the decisions made since.
void retry_contenders(TuneState& state, const StepTime& time);

// ---- dimensions of the program: by `until_s`

// The dimensions that `belongs` picks and that offer the same option, moved at once: weights and libraries come in dozens,
// and one duel of all tells more than dozens of duels below the noise.
StepFunction move_groups(std::function<bool(const Dimension&)> belongs);
// The same for the dimensions of one family (graph/decision_families.def).
StepFunction move_family(FamilyId family);
// Every option of the dimensions that decide much at once, one duel each.
void broad_moves(TuneState& state, const StepTime& time);
// The same without the dimensions that choose one library for all kernels.
void broad_moves_but_libraries(TuneState& state, const StepTime& time);
// One pass of coordinate descent: every option of every dimension, one duel each.
void descend(TuneState& state, const StepTime& time);

// ---- by `budget_s`

// Searches all dimensions with TuneOptions::strategy, which must not be empty.
void search_by_strategy(TuneState& state, const StepTime& time);
// Tunes each new kernel of `lowered` by itself, then tries the winners together.
void tune_kernels_of_lowering(TuneState& state, const StepTime& time);

// ---- fusion: takes all the time left and ignores its StepTime

// Searches fusion by annealing over the edges of XLA's own fusion, or with a model (TuneOptions::fusion_plan).
void tune_fusion(TuneState& state, const StepTime& time);

}  // namespace hone::tune
