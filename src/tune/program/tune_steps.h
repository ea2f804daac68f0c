// The steps that a tune of a program is made of; program_tuner.cc lists them in their order, and says when each applies. A
// step looks for a faster program with some of the decisions, and leaves the best so far in the state. Without time, or with
// nothing to decide, it does nothing: any order after lower_default is a tune. All throw Stopped as the measurer does.
#pragma once

#include <functional>

#include "graph/decision_family.h"
#include "tune/program/tune_state.h"

namespace hone::tune {

// When a step ends, told in both ways; a step goes by one of them.
struct StepTime {
  double until_s = 0;   // it ends when the search has no more than these seconds left
  double budget_s = 0;  // seconds that it may take
};

using StepFunction = std::function<void(TuneState& state, const StepTime& time)>;

// ---- preparation: none of these measures anything

// Lowers default XLA and lists what there is to decide. Comes first. Throws Error when XLA cannot lower the program.
void lower_default(TuneState& state, const StepTime& time);
// Lowers the best so far, which the next kernels are taken from.
void lower_best(TuneState& state, const StepTime& time);
// Lists what there is to decide in that lowering, instead of what was listed before.
void list_dimensions(TuneState& state, const StepTime& time);
// Keeps the seconds of `budget_s` back for fusion.
void reserve_fusion_time(TuneState& state, const StepTime& time);

// ---- whole programs: by `until_s`

// Each order of passes that is proposed, against the best so far. What comes near the best is kept as a contender: it may
// be the better one once its kernels are tuned. Needs OuterPlan::passes.
void order_passes(TuneState& state, const StepTime& time);
// The same of layouts, proposed for the program under the best so far. Needs OuterPlan::layouts.
void choose_layouts(TuneState& state, const StepTime& time);
// The best contenders again, on the decisions that were made since.
void retry_contenders(TuneState& state, const StepTime& time);

// ---- dimensions of the program: by `until_s`

// The dimensions that `belongs` picks and that offer the same option, moved at once: weights and libraries come in dozens,
// and one duel of all tells more than dozens of duels below the noise.
StepFunction move_groups(std::function<bool(const Dimension&)> belongs);
// The same for the dimensions of one family (graph/decision_families.def).
StepFunction move_family(FamilyId family);
// Every option of the dimensions that decide much at once, one duel each.
void broad_moves(TuneState& state, const StepTime& time);
// The same without the dimensions that put one library in place of all kernels.
void broad_moves_but_libraries(TuneState& state, const StepTime& time);
// One pass of coordinate descent: every option of every dimension, one duel each.
void descend(TuneState& state, const StepTime& time);

// ---- by `budget_s`

// All dimensions by the strategy that the options name; needs that name.
void search_by_strategy(TuneState& state, const StepTime& time);
// Each kernel of `lowered` that was not seen before by itself, then the winners together.
void tune_kernels_of_lowering(TuneState& state, const StepTime& time);

// ---- fusion: takes what is left, whatever its time

// XLA's own fusion by annealing over its edges, or as TuneOptions::fusion_plan says.
void tune_fusion(TuneState& state, const StepTime& time);

}  // namespace hone::tune
