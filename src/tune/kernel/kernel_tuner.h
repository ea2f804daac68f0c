// Finds the best option of one kernel by duels against the kernel's own default.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "search/option_belief.h"
#include "tune/session/measurer.h"

namespace hone::cost {
class KernelRanker;
}

namespace hone::tune {

struct KernelReport;
struct Tried;

struct KernelOptions {
  // With a ranker, its best options are tried first. With `top_k` above 0, only the best `top_k` options of each kernel
  // are measured.
  cost::KernelRanker* ranker = nullptr;
  int top_k = 0;
  // If the ranker gives the uncertainty of its scores, each measurement goes to the option of the largest expected
  // improvement (option_belief.h) and the search ends when that is below `worth`; else options come in the order of scores.
  bool by_expectation = true;
  double worth = 0.002;  // logarithm of run time
  BeliefOptions belief;
  // For rankers whose scores are logarithms of ratios, with spreads in that unit.
  BeliefOptions ratio_belief{.slope = 1, .slope_deviation = 0.3, .deviation = 0.02, .per_spread = 1};

  // Options to try before all others, for example those that won on similar kernels (transfer.h). May be empty.
  std::function<std::vector<int>(const Kernel&)> first;
  // Called after every search that measured something, with all its measurements. May be empty.
  std::function<void(const Kernel&, const KernelReport&, const std::vector<Tried>&)> on_searched;

  int exhaustive_limit = 60;  // spaces up to this size are covered completely
  int samples = 16;           // first options of larger spaces
  int max_tried = 160;        // of larger spaces
  int finalists = 3;          // measured again with the careful duel
  double min_gain = 1.01;     // the winner's lower bound must be above this
  double negligible_ns = 0;   // a kernel whose calls take less in all is skipped after the first measurement
  Duel quick{.min_rounds = 3, .max_rounds = 8, .budget_ms = 40, .precision = 0.03, .abandon_ratio = 0.8, .limit_s = 10};
  Duel careful{
      .min_rounds = 9, .max_rounds = 120, .budget_ms = 400, .precision = 0.01, .abandon_ratio = 0, .limit_s = 20};

  void validate() const;  // throws Error
};

struct Tried {
  std::string value;
  Measurement measurement;
};

struct KernelReport {
  std::string fingerprint, name, kind;
  int count = 1;
  double share = 0;  // of the program's time, measured or estimated
  DecisionKind decision = DecisionKind::Codegen;
  std::string key;                    // of the decision
  std::string default_tile;           // XLA's own, "1,128", where its default is the tiled emitter
  std::string default_value, chosen;  // equal when nothing beat the default
  double default_ns = 0, chosen_ns = 0;
  double gain = 1, gain_low = 1, gain_high = 1;
  int options = 0, tried = 0;
  bool known = false;      // taken from the database
  bool complete = false;   // the search did not run out of budget
  bool kept = false;       // part of the final program
  std::vector<Tried> top;  // best first, careful duels before quick ones

  bool improved() const { return chosen != default_value; }
};

// Ends after `budget_s`, when the measurer has no time left, or when the search is complete; returns the best so far. A
// complete search is passed to Measurer::remember().
KernelReport tune_kernel(const Kernel& kernel, Measurer& measurer, double budget_s, const KernelOptions& options,
                         Rng& rng);

// The results for kernels that are in the database, by share, largest first, without measuring; other kernels are left
// out.
std::vector<KernelReport> known_kernels(const std::vector<Kernel>& kernels, Measurer& measurer);

struct KernelsProgress {
  int index = 0, total = 0;
  const KernelReport* report = nullptr;
};

// Tunes all kernels with more than one option, by share, largest first, and divides the budget in proportion. Returns
// reports in the order of tuning; kernels that the budget did not reach are missing.
std::vector<KernelReport> tune_kernels(const std::vector<Kernel>& kernels, Measurer& measurer, double budget_s,
                                       const KernelOptions& options, Rng& rng,
                                       const std::function<void(const KernelsProgress&)>& on_kernel);

}  // namespace hone::tune
