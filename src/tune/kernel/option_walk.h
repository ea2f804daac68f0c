// A search over the options of one kernel, apart from how they are measured: which option to measure next, given what was
// measured so far. The kernel tuner measures a kernel by itself; experiments measure many kernels in one program.
#pragma once

#include <functional>
#include <map>
#include <optional>
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
  // For rankers whose scores are logarithms of ratios, with spreads in that unit: members of an ensemble agree more than they are right.
  BeliefOptions ratio_belief{.slope = 1, .slope_deviation = 0.3, .deviation = 0.35, .per_spread = 0.3};
  // The same for forms of operations, whose ranker knows its error.
  BeliefOptions form_belief{.slope = 1, .slope_deviation = 0.3, .deviation = 0.02, .per_spread = 1};

  // Options to try before all others, for example those that won on similar kernels (transfer.h). May be empty.
  std::function<std::vector<int>(const Kernel&)> first;
  // Called after every search that measured something, with all its measurements. May be empty.
  std::function<void(const Kernel&, const KernelReport&, const std::vector<Tried>&)> on_searched;

  int exhaustive_limit = 60;  // spaces up to this size are covered completely
  int samples = 16;           // first options of larger spaces
  int max_tried = 160;        // of larger spaces
  int patience = 0;           // a search ends after so many options of which none was faster; 0 = it goes on
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

class OptionWalk {
 public:
  // Ranks the kernel's options if there is a ranker. `earlier`: measurements by value, which do not count as tried. `options` must
  // outlive the walk.
  OptionWalk(const Kernel& kernel, const KernelOptions& options,
             const std::map<std::string, Measurement>& earlier = {});

  // The option to measure; nullopt when the search is complete. Never the default, and none that was told.
  std::optional<int> next(Rng& rng);
  // A measurement of option i against the default.
  void tell(int i, const Measurement& measurement);

  int tried() const { return tried_; }
  // No option could be verified (a constant fill, for example); this is the same for all options.
  bool unproven() const;
  // Verified options, fastest first.
  std::vector<int> ranking() const;
  const Dimension& dimension() const { return dimension_; }
  const std::optional<Measurement>& measured(int i) const { return measured_[i]; }
  std::vector<Tried> all_measured() const;

 private:
  // The options are forms of an operation: none is the neighbour of another.
  bool forms() const { return dimension_.kind == DecisionKind::Rewrite; }
  void rank(const Kernel& kernel);
  void learn(int i, const Measurement& measurement);
  bool open(int i) const { return i != dimension_.default_option && !measured_[i]; }
  bool any_open() const;
  bool any_faster() const;
  std::optional<int> from_queue();
  std::optional<int> from_belief();
  void sample(Rng& rng);
  bool expand(int among);
  std::optional<int> best_unexpanded(int among) const;

  Dimension dimension_;
  const KernelOptions& options_;
  std::vector<std::optional<Measurement>> measured_;
  std::vector<int> ranked_;     // best first; empty without a ranker
  std::vector<int> queue_;      // to measure next, in reverse
  std::vector<bool> expanded_;  // whose neighbours were queued
  std::optional<OptionBelief> belief_;
  bool sampled_ = false;
  int tried_ = 0, unproven_ = 0;
};

}  // namespace hone::tune
