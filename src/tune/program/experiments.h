// The experiments of a tune. A row of the table in program_tuner.cc proposes those of one kind; the schedule runs the one
// with the largest expected gain per second. An experiment searches some of the decisions for a faster program and leaves the
// best so far in the state. All throw Stopped as the measurer does. An experiment must be run before the state changes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/decision_family.h"
#include "tune/program/tune_state.h"

namespace hone::tune {

struct Experiment {
  std::string what;
  double share = 1;   // of the program's run time that it can change
  double cost_s = 0;  // predicted
  // Takes at most about `budget_s`. Returns the gain of the time that it touches, a logarithm; 0 if nothing was kept.
  std::function<double(TuneState& state, double budget_s)> run;
  Decisions first = {};  // the candidate of the program that it measures first, where that is known
  std::optional<double> gain =
      {};  // predicted, of the time that it touches, a logarithm; nothing = as of others of its kind
};

// The experiments of one kind that are open now. Measures nothing.
using Propose = std::function<std::vector<Experiment>(const TuneState& state)>;
// What the touched time gained while `work` ran, a logarithm. `share`: Experiment::share.
double gain_of(TuneState& state, double share, const std::function<void()>& work);
// Which dimensions an experiment is about.
using Belongs = std::function<bool(const Dimension&)>;
using Chooses = std::function<bool(const Dimension&, const std::string& option)>;

// ---- whole programs

// Each proposed order of passes, against the best so far. One that is close to the best is kept as a contender, since it may
// win after its kernels are tuned. Needs OuterPlan::passes.
std::vector<Experiment> orders_of_passes(const TuneState& state);
// The same of layouts, proposed for the program under the best so far. Needs OuterPlan::layouts.
std::vector<Experiment> layouts_of_program(const TuneState& state);
// The best contenders again, on the decisions that were made since.
std::vector<Experiment> contenders_again(const TuneState& state);

// ---- dimensions of the program

// All dimensions that belong and offer the same option, changed at once: there are dozens of weights and libraries, and one
// duel of all of them measures more than dozens of duels within the noise.
Propose groups_of(Belongs belongs);
// The same of the dimensions of one family (graph/decision_families.def).
Propose groups_of_family(FamilyId family);
// The halves of groups that failed: of kernels that won by themselves, or of others.
Propose parts_of_groups(bool kernels);
// One option of one dimension, all others as in the best. `again`: those that were tried under an earlier best.
Propose single_options(Chooses chooses, bool again);
// All weights as constants, so that what is computed from them alone is computed once; touches the time that this takes.
std::vector<Experiment> weights_computed_once(const TuneState& state);
// All dimensions by the strategy that the options name, once; needs that name.
std::vector<Experiment> by_strategy(const TuneState& state);

// ---- kernels

// Everything that oneDNN takes and no other form was decided for, together with the steps that follow, of which an operation by
// itself has none: one duel.
std::vector<Experiment> onednn_everywhere(const TuneState& state);
// A search over the options of each kernel, which is run by itself.
std::vector<Experiment> kernels_of_program(const TuneState& state);
// One candidate with another option for each of many kernels, which are timed where they stand in the program. Needs
// Measurer::times_in_place().
std::vector<Experiment> kernels_in_place(const TuneState& state);
// The options that won on kernels, in the program.
std::vector<Experiment> winning_kernels(const TuneState& state);

// ---- operations

// A search over the forms of each operation of the family, which is run by itself.
Propose operations_of_family(FamilyId family);
// The forms that a model expects to be faster, all at once, before they are measured.
std::vector<Experiment> predicted_operations(const TuneState& state);
// The forms that won, in the program.
std::vector<Experiment> winning_operations(const TuneState& state);

// ---- fusion

// Fusion by annealing over the edges of XLA's own, or as TuneOptions::fusion_plan says. Each run takes twice as long as
// the one before.
std::vector<Experiment> fusion_of_program(const TuneState& state);
// One such run.
void tune_fusion(TuneState& state, double budget_s);

}  // namespace hone::tune
