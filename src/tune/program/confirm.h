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

struct ProgramResult {
  Decisions decisions;      // sorted; empty = default XLA
  Measurement measurement;  // of the final duel against default XLA; ratio 1 when the decisions are empty
  Lowered lowered;          // under the decisions, with its HLO
  std::vector<KernelReport> kernels;
  std::vector<Step> steps;
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
  bool holds = false;    // every duel verified and none slower, the combined lower bound at least 1
};
inline constexpr double kSlower = 0.99;
Confirmation confirm(Measurer& measurer, const Decisions& decisions, const Duel& effort, int processes);
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
