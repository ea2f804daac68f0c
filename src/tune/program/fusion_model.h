// Fusion by a model: the run time of a whole program under a fusion configuration is predicted as the sum over its kernels,
// and simulated annealing looks for the configuration that is predicted fastest (Kaufman et al. 2021, section 7.3). Its
// results must be measured before they are used.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cost/learn_library.h"
#include "tune/session/measurer.h"

namespace hone::tune {

// What is no kernel, as sorts and calls of libraries, and the call itself: a guess, in predictions of whole programs that are compared.
inline constexpr double kOutsideKernelsNs = 1000;

// Predicts run times of kernels and programs; each distinct kernel is predicted once. Thread-safe.
class FusionModel {
 public:
  // The model must predict run times (throws Error otherwise). `launch_ns` is the overhead of launching a kernel inside
  // a program; data sets measure each kernel as a program of its own, so predictions already include one launch.
  explicit FusionModel(std::unique_ptr<cost::LearnedModel> model, double launch_ns = 0);

  std::string name() const { return model_->name(); }
  // ns of one run of the default option. Throws Error for a kernel that cannot be encoded.
  double kernel_ns(const Kernel& kernel);
  // ns; the sum over kernels, each as often as it runs. Infinite when one of them cannot be encoded.
  double program_ns(const Lowered& lowered);
  // Distinct kernels predicted so far, and the time it took.
  int64_t kernels() const { return kernels_; }
  double seconds() const { return 1e-9 * static_cast<double>(spent_ns_); }

 private:
  std::unique_ptr<cost::LearnedModel> model_;
  double launch_ns_;
  std::mutex mutex_;
  std::map<std::string, double> known_;  // by fingerprint
  std::atomic<int64_t> kernels_ = 0, spent_ns_ = 0;
};

// `path`: weights from hone train fusion, a folder of them, or "analytical"; `cpu`: the machine to predict for. Networks beside trees are
// left out: these models compare variants of a program.
// Throws the errors of opening them.
std::unique_ptr<FusionModel> open_fusion_model(const std::string& path, const features::Cpu& cpu);

// The trees NAME that come with Hone, or are in `models` (cost::shipped_model), for this machine; null where there are none. Throws the
// errors of opening them. As above without the networks beside trees.
std::unique_ptr<FusionModel> shipped_run_times(const std::string& name, const std::string& models, int threads,
                                               const std::string& max_isa);

// One worker of the search. Lanes work in parallel, each called from one thread.
struct FusionLane {
  std::function<Lowered(const Decisions&)> lower;  // kernels with their modules; throws Error where XLA fails
  std::function<double()> seconds_left;            // 0 after an interrupt
};

struct FusionSearchOptions {
  double budget_s = 10;
  int64_t max_configurations = 1000000;   // of all chains together
  int chains = 4;                         // per lane, one after the other: independent walks that share all scores
  Decisions start;                        // fusion decisions the chains begin with; empty = XLA's own fusion
  std::vector<Decisions> diverse_starts;  // other starts, one for every second chain
  int finalists = 6;
  double temperature = 0.02;  // relative to the current cost
  uint64_t seed = 0;
  // Called after each configuration with the number scored so far and the ratio of the start's predicted time to the
  // best's.
  std::function<void(int64_t configurations, double gain)> on_scored = [](int64_t, double) {};

  void validate() const;  // throws Error
};

// Roughly the error of predicted run times on test programs (docs/results/cost-model.md: 33 % mean, 26 % median).
inline constexpr double kModelError = 0.3;

struct FusionCandidate {
  Decisions decisions;  // of fusion, sorted
  double predicted_ns = 0;
};

struct FusionSearchReport {
  double own_ns = 0;                  // predicted, of XLA's own fusion
  double start_ns = 0;                // predicted, of the start
  std::vector<FusionCandidate> best;  // distinct programs predicted faster than the start, fastest first
  // The best of each chain with another start, fastest first. The model compares programs that have little in common
  // less accurately than neighbours, so these may be predicted up to `kModelError` slower than the start.
  std::vector<FusionCandidate> from_diverse_starts;
  int64_t configurations = 0;       // scored
  int64_t programs = 0;             // distinct lowered programs among them
  int64_t failed = 0;               // XLA or the encoding failed
  int64_t kernels = 0;              // distinct kernels predicted
  double seconds = 0, model_s = 0;  // in all; in the model
  // Both lists in the order to measure them: alternating, since the second best is usually a neighbour of the best.
  std::vector<FusionCandidate> finalists() const;
  double per_minute() const { return seconds > 0 ? 60 * static_cast<double>(configurations) / seconds : 0; }
};

// `base`: fixed decisions, without fusion; `edges`: the fusion dimensions under them. `best` is empty when nothing is
// predicted to be faster, when there is no edge, or when the start cannot be scored. Ends early, with the results so
// far, when a lane has no time left.
FusionSearchReport search_fusion(const std::vector<FusionLane>& lanes, const Decisions& base,
                                 const std::vector<Dimension>& edges, FusionModel& model,
                                 const FusionSearchOptions& options);

}  // namespace hone::tune
