// What a tune of a program can do next. A row of the table in program_tuner.cc proposes experiments of one kind; the
// schedule begins the one that is expected to gain most per second. An experiment looks for a faster program with some of
// the decisions and leaves the best so far in the state. All throw Stopped as the measurer does.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/decision_family.h"
#include "tune/program/tune_state.h"

namespace hone::tune {

struct Experiment {
  std::string what;
  double share = 1;   // of the program's run time that it can change
  double cost_s = 0;  // predicted
  // Takes about `budget_s` at most. Returns the gain of the time that it touches, a logarithm; 0 where nothing was kept.
  std::function<double(TuneState& state, double budget_s)> run;
};

// The experiments of one kind that are open now. Measures nothing.
using Propose = std::function<std::vector<Experiment>(const TuneState& state)>;
// Which dimensions an experiment is about.
using Belongs = std::function<bool(const Dimension&)>;

// ---- whole programs

// Each order of passes that is proposed, against the best so far. What comes near the best is kept as a contender: it may
// be the better one once its kernels are tuned. Needs OuterPlan::passes.
std::vector<Experiment> orders_of_passes(const TuneState& state);
// The same of layouts, proposed for the program under the best so far. Needs OuterPlan::layouts.
std::vector<Experiment> layouts_of_program(const TuneState& state);
// The best contenders again, on the decisions that were made since.
std::vector<Experiment> contenders_again(const TuneState& state);

// ---- dimensions of the program

// The dimensions that belong and offer the same option, moved at once: weights and libraries come in dozens, and one duel
// of all tells more than dozens of duels below the noise.
Propose groups_of(Belongs belongs);
// The same of the dimensions of one family (graph/decision_families.def).
Propose groups_of_family(FamilyId family);
// The halves of groups that failed: of kernels that won by themselves, or of others.
Propose parts_of_groups(bool kernels);
// One option of one dimension, all others as in the best. `again`: those that were tried under an earlier best.
Propose single_options(Belongs belongs, bool again);
// All dimensions by the strategy that the options name, once; needs that name.
std::vector<Experiment> by_strategy(const TuneState& state);

// ---- kernels

// Each kernel by itself, most often without the program.
std::vector<Experiment> kernels_of_program(const TuneState& state);
// What won on kernels, in the program.
std::vector<Experiment> winning_kernels(const TuneState& state);

// ---- fusion

// XLA's own fusion by annealing over its edges, or as TuneOptions::fusion_plan says. Every further go takes twice as long.
std::vector<Experiment> fusion_of_program(const TuneState& state);
// With all the time there is.
void tune_fusion(TuneState& state, double budget_s);

}  // namespace hone::tune
