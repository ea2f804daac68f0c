// The frame of every search of a program: the duel of default XLA that comes before it, and the duels that decide whether
// what it found is kept.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tune/kernel/kernel_tuner.h"
#include "tune/program/fusion_model.h"
#include "tune/session/measurer.h"

namespace hone::tune {

// One measured candidate of a program, in the order of trying.
struct Step {
  std::string what;         // "all kernels", "weights 3 transposed"
  Measurement measurement;  // against the best before it
  bool kept = false;
};

// One experiment of the schedule (experiments.h), as it was begun and as it came out.
struct ScheduledExperiment {
  std::string step;     // its row in the table of steps
  std::string what;     // "kernel fusion.12", "option multi_output_fusion 1"
  double share = 1;     // of the program's time that it touches
  double expected = 0;  // gain of the program, a logarithm
  double gain = 0;      // of what it touches, a logarithm; 0 = nothing was kept
  double predicted_s = 0, took_s = 0;
};

// What a search left when its time was over.
struct Untried {
  int experiments = 0, kernels = 0;  // of all experiments those about one kernel
  double gain = 1;                   // that all of them are expected to bring, a ratio
  double seconds = 0;                // that they would take
};

struct ProgramResult {
  Decisions decisions;      // sorted; empty = default XLA
  Measurement measurement;  // of the final duel against default XLA; ratio 1 when the decisions are empty
  Lowered lowered;          // under the decisions, with its HLO
  std::vector<KernelReport> kernels;
  std::vector<Step> steps;
  std::vector<ScheduledExperiment> schedule;  // in the order of beginning
  Untried untried;
  std::optional<FusionSearchReport> fusion;  // when a model searched
  bool stopped = false;                      // by the user or the end of the budget
  std::string note;                          // why nothing could be gained, when that has a reason
};
// Sets `kept` of the kernels whose choice is among the result's decisions.
void mark_kept(ProgramResult& result);

// ---- default XLA

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

// The same measurement as one of default XLA against itself: a ratio of exactly 1.
Measurement against_itself(Measurement default_run);

// ---- the confirmation

// Duels of one candidate against default XLA in several processes, since where a process's memory lies can make a run
// 20 % faster or slower. Stops at the first that fails or is slower than `kSlower`.
struct Confirmation {
  std::vector<Measurement> duels;
  Measurement combined;  // geometric means, also of the bounds; the first failure if there is one
  bool holds = false;    // every duel verified and none slower, the combined lower bound at least 1
};
inline constexpr double kSlower = 0.99;
Confirmation confirm(Measurer& measurer, const Decisions& decisions, const Duel& effort, int processes);
// Fewer processes than asked for where compiling and running the program twice in each would take longer than `seconds`.
int affordable_processes(const Measurement& default_run, double seconds, int asked);

// One short duel for decisions that an earlier search has proved: the result if they are not surely slower than default
// XLA now, else a result with empty decisions whose last step is not kept.
ProgramResult confirm_decisions(Measurer& measurer, const Decisions& decisions, const Duel& effort);

// ---- default XLA, a search, the confirmation

// What a search of a program knows while it runs, whoever searches. The measurer must outlive it.
struct SearchRun {
  struct Found {
    Decisions decisions;
    double gain = 1;  // over default XLA, as the search measured it
  };

  Measurer& measurer;
  std::function<void(const std::string& what, double gain)> on_progress;
  DefaultRun default_run = {};    // of no rounds until default XLA was measured
  double gain = 1;                // of the best so far over default XLA
  std::vector<Found> found = {};  // worth a confirmation
  ProgramResult result = {};

  void say(const std::string& what) const { on_progress(what, gain); }
  // A duel of the decisions against default XLA, which becomes a step of the result. They are found when they are surely
  // faster, and by more than `min_gain`.
  Measurement try_against_default(const std::string& what, const Decisions& decisions, double min_gain);
};

struct FinalDuels {
  Duel effort;
  int processes = 3;
  double seconds = 0;  // fewer processes where they would take longer than this; 0 = no limit
  int candidates = 4;  // at most, the fastest first
};

// Measures default XLA, calls `search` (not where the outputs of default XLA prove nothing), and takes the fastest of what
// it found that the final duels show to be verified and at least as fast as default XLA; where none holds, default XLA
// itself. An interrupt or the end of the budget during the search, Stopped, ends only the search. Afterwards the run's
// result is complete but for `lowered`. Throws RunError when default XLA cannot run the program.
void search_and_confirm(SearchRun& run, const std::function<void()>& search, const FinalDuels& duels);

}  // namespace hone::tune
