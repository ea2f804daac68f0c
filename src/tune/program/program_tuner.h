// Tunes a whole program: kernels first, then the program's own dimensions, then fusion; every step is a duel against
// the best so far, and the last word is a duel against default XLA.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tune/kernel/kernel_tuner.h"
#include "tune/program/fusion_model.h"

namespace hone::tune {

// How fusion is searched. Without a model by measuring alone: annealing over the edges of XLA's own fusion. With one, the
// model anneals first and the best of what it finds is measured, then annealing goes on from there.
struct FusionPlan {
  FusionModel* model = nullptr;
  std::vector<FusionLane> lanes;  // workers the model's search may ask
  double budget_s = 0;            // of the model's search; 0 = a share of the time left
  int chains = 4;
  bool random_start = false;  // from a random configuration instead of XLA's own
  bool only = false;          // decide nothing but fusion
};

// A program by decisions that come before all others (outer_search.h).
struct Alternative {
  std::string what;  // "12 passes first", "3 layouts"
  Decisions decisions;
};

// Who proposes orders of passes and layouts; both may be empty.
struct OuterPlan {
  std::function<std::vector<Alternative>()> passes;                         // of the untouched program
  std::function<std::vector<Alternative>(const Decisions& under)> layouts;  // of the program under these decisions
  int contenders = 2;  // that come near the best, and are tried again on what the inner search finds
};

struct TuneOptions {
  double budget_s = 60;  // of the search, the confirmation included
  uint64_t seed = 0;
  std::string strategy;           // searches the program's dimensions; empty = group moves, then coordinate descent
  bool fusion = true;             // search over fusion edges when time remains
  std::set<DecisionKind> decide;  // kinds that are decided; empty = all
  OuterPlan outer;
  FusionPlan fusion_plan;
  bool kernels_only = false;  // tune the kernels of default XLA and nothing else
  double min_gain = 1.01;     // a kept step must be this much faster, and surely faster
  KernelOptions kernel;
  int processes = 3;  // the final duel is fought in so many fresh processes
  Duel confirm{.min_rounds = 15,
               .max_rounds = 200,
               .budget_ms = 3000,
               .precision = 0.005,
               .abandon_ratio = 0,
               .limit_s = 300};  // in each of them
  // What is being tried ("kernels 3/12") and the gain over default XLA so far.
  std::function<void(const std::string& what, double gain)> on_progress = [](const std::string&, double) {};

  bool decides(DecisionKind kind) const { return decide.empty() || decide.contains(kind); }
  void validate() const;  // throws Error
};

// One program-level candidate, in the order of trying.
struct Step {
  std::string what;         // "all kernels", "weights 3 transposed"
  Measurement measurement;  // against the best before it
  bool kept = false;
};

struct ProgramResult {
  Decisions decisions;      // sorted; empty = default XLA
  Measurement measurement;  // of the final duel against default XLA; ratio 1 when the decisions are empty
  Lowered lowered;          // under the decisions, with its HLO
  std::vector<KernelReport> kernels;
  std::vector<Step> steps;
  std::optional<FusionSearchReport> fusion;  // when a model searched
  bool stopped = false;                      // by the user or the end of the budget
  std::string note;                          // why nothing could be gained, when that has a reason
};

// Throws RunError when default XLA itself cannot compile or run the program. Never returns a result that the final duels
// did not show to be at least as fast as default XLA and verified, unless it is default XLA itself.
ProgramResult tune_program(Measurer& measurer, const TuneOptions& options);

// An A/A duel of default XLA: can the program run at all, do its outputs prove anything, how long does it take. Throws
// RunError when it cannot run.
struct DefaultRun {
  Measurement measurement;  // at least one round
  std::string note;         // why its outputs prove nothing; empty when they do
  Duel trial;               // what one candidate of such a program may cost
};
DefaultRun measure_default(Measurer& measurer);
// The same for a search that was interrupted before it knew, where somebody waits. Throws Stopped when that takes more than
// some seconds.
DefaultRun measure_default_after_stop(Measurer& measurer);

// Duels of one candidate against default XLA in several processes, since where a process's memory lies can make a run
// 20 % faster or slower. Stops at the first that fails or is slower than `kSlower`.
struct Confirmation {
  std::vector<Measurement> duels;
  Measurement combined;  // geometric means, also of the bounds; the first failure if there is one
  bool holds = false;    // every duel verified and none slower, the combined lower bound at least 1
};
inline constexpr double kSlower = 0.99;
// Fewer processes than asked for where compiling and running the program twice in each would take longer than `seconds`.
int affordable_processes(const Measurement& default_run, double seconds, int asked);
Confirmation confirm(Measurer& measurer, const Decisions& decisions, const Duel& effort, int processes);

// One short duel for decisions that an earlier search has proved: the result if they are not surely slower than default
// XLA now, else a result with empty decisions whose last step is not kept.
ProgramResult confirm_decisions(Measurer& measurer, const Decisions& decisions, const Duel& effort);

// Sets `kept` of the kernels whose choice is among the result's decisions.
void mark_kept(ProgramResult& result);

// `base` with the decisions of `more` in place of its own about the same things, sorted.
Decisions merged(const Decisions& base, const Decisions& more);

// Order in which program dimensions are tried: those known to move most first, then by weight.
std::vector<Dimension> by_promise(std::vector<Dimension> dimensions);

// "weights 3 transposed", "option prefer_vector_width 512", "kernel 1a2b3c tile=8,8".
std::string in_words(const Decision& decision);

}  // namespace hone::tune
