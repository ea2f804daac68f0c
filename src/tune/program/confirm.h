// What every search of a program shares: the duel of default XLA before the search, and the final duels that decide
// whether a candidate it found is kept.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tune/kernel/kernel_tuner.h"
#include "tune/program/fusion_model.h"
#include "tune/session/measurer.h"

namespace hone::tune {

// One measured candidate of a program. Steps are in the order in which they were measured.
struct Step {
  std::string what;         // "all kernels", "weights 3 transposed"
  Measurement measurement;  // against the best candidate before it
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
  std::string note;                          // why no gain was possible, where the reason is known
};
// Sets `kept` of the kernels whose choice is among the result's decisions.
void mark_kept(ProgramResult& result);

// ---- default XLA

// An A/A duel of default XLA: can the program run, can its outputs verify a candidate, and how long does a run take?
// Throws RunError when it cannot run.
struct DefaultRun {
  Measurement measurement;  // at least one round
  std::string note;         // why its outputs cannot verify a candidate; empty when they can
  Duel trial;               // the effort for one candidate of this program
};
DefaultRun measure_default(Measurer& measurer);
// The same for a search that was interrupted before default XLA was measured. Throws Stopped when it takes more than a
// few seconds, since a user is waiting.
DefaultRun measure_default_after_stop(Measurer& measurer);

// The measurement with default XLA as the candidate too: the ratio is exactly 1.
Measurement against_itself(Measurement default_run);

// ---- the confirmation

// Duels of one candidate against default XLA in several processes, since the memory layout of a process can make a run
// 20 % faster or slower. Stops at the first duel that fails or has a ratio below `kSlower`.
struct Confirmation {
  std::vector<Measurement> duels;
  Measurement combined;  // geometric means, also of the bounds; the first failure if there is one
  // Every duel verified and none slower, the combined lower bound at least 1, and verify_on_other_inputs().
  bool holds = false;
};
inline constexpr double kSlower = 0.99;
Confirmation confirm(Measurer& measurer, const Decisions& decisions, const Duel& effort, int processes);
// The outputs on inputs of other kinds than the measured ones, each run once: special and large ones, and all others
// (graph/input_kind.h) where a run takes less than 0.1 s and these took less than ten. The first that differs, fails or crashes, or else
// ok. Outputs that prove nothing pass.
Measurement verify_on_other_inputs(Measurer& measurer, const Decisions& decisions, const Measurement& measured);
// At most `asked` processes: fewer if compiling and running both programs in each would take longer than `seconds`.
int affordable_processes(const Measurement& default_run, double seconds, int asked);

// One short duel for decisions that an earlier search confirmed. Returns them unless they are now surely slower than
// default XLA; otherwise returns a result with empty decisions whose last step is not kept.
ProgramResult confirm_decisions(Measurer& measurer, const Decisions& decisions, const Duel& effort);

// ---- default XLA, a search, the confirmation

// The state that every search of a program has. The measurer must outlive it.
struct SearchRun {
  struct Found {
    Decisions decisions;
    double gain = 1;  // over default XLA, as the search measured it
  };

  Measurer& measurer;
  std::function<void(const std::string& what, double gain)> on_progress;
  DefaultRun default_run = {};    // has 0 rounds until default XLA is measured
  double gain = 1;                // of the best so far over default XLA
  std::vector<Found> found = {};  // candidates for the confirmation
  ProgramResult result = {};

  void say(const std::string& what) const { on_progress(what, gain); }
  // Measures the decisions against default XLA and adds a step to the result. Adds them to `found` if they are surely
  // faster and the ratio is above `min_gain`.
  Measurement try_against_default(const std::string& what, const Decisions& decisions, double min_gain);
};

struct FinalDuels {
  Duel effort;
  int processes = 3;
  double seconds = 0;  // time limit, met by using fewer processes; 0 = no limit
  int candidates = 4;  // at most this many, fastest first
};

// Measures default XLA, calls `search` (unless the outputs of default XLA cannot verify a candidate), and takes the
// fastest candidate found that the final duels show to be verified and at least as fast as default XLA; if there is
// none, default XLA itself. Stopped (an interrupt or the end of the budget) ends only the search. Afterwards the run's
// result is complete except for `lowered`. Throws RunError when default XLA cannot run the program.
void search_and_confirm(SearchRun& run, const std::function<void()>& search, const FinalDuels& duels);

}  // namespace hone::tune
