// Fusion by a model: the run time of a whole program under a fusion configuration is predicted as the sum over its kernels,
// and simulated annealing looks for the configuration that is predicted fastest (Kaufman et al. 2021, section 7.3). What it
// finds has to be measured before it is believed.
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

// Predicted run times of kernels and programs, each kernel read once. May be asked from several threads.
class FusionModel {
 public:
  // The model must predict run times (throws Error otherwise). `launch_ns` is what starting a kernel adds inside a
  // program; data sets measure a kernel as a program of its own, so predictions hold one start already.
  explicit FusionModel(std::unique_ptr<cost::LearnedModel> model, double launch_ns = 0);

  std::string name() const { return model_->name(); }
  // ns of one run of the default option. Throws Error for a kernel that cannot be encoded.
  double kernel_ns(const Kernel& kernel);
  // ns; kernels by their counts. Infinite when one of them cannot be encoded.
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

// Weights of hone train fusion, a folder of them, or "analytical", for which `max_isa` limits the vectors (base/isa.h; empty
// = no limit). Throws what opening them throws.
std::unique_ptr<FusionModel> open_fusion_model(const std::string& path, int threads, const std::string& max_isa = "");

// One worker the search may ask; lanes are asked in parallel, each by one thread.
struct FusionLane {
  std::function<Lowered(const Decisions&)> lower;  // kernels with their modules; throws Error where XLA fails
  std::function<double()> seconds_left;            // 0 after an interrupt
};

struct FusionSearchOptions {
  double budget_s = 10;
  int64_t max_configurations = 1000000;   // of all chains together
  int chains = 4;                         // in turn on each lane: independent walks that share what is known
  Decisions start;                        // fusion decisions the chains begin with; empty = XLA's own fusion
  std::vector<Decisions> diverse_starts;  // where every second chain begins instead, in turn
  int finalists = 6;
  double temperature = 0.02;  // relative to the current cost
  uint64_t seed = 0;
  // After each configuration: how many so far, and predicted time of the start over that of the best.
  std::function<void(int64_t configurations, double gain)> on_scored = [](int64_t, double) {};

  void validate() const;  // throws Error
};

// About the error of predicted run times on test programs (docs/results/cost-model.md: 33 % mean, 26 % median).
inline constexpr double kModelError = 0.3;

struct FusionCandidate {
  Decisions decisions;  // of fusion, sorted
  double predicted_ns = 0;
};

struct FusionSearchReport {
  double own_ns = 0;                  // predicted, of XLA's own fusion
  double start_ns = 0;                // predicted, of the start
  std::vector<FusionCandidate> best;  // distinct programs predicted faster than the start, fastest first
  // The best that chains with other starts came to, fastest first. Predictions of programs that have little in common are off by
  // more than those of neighbours: these may be predicted slower than the start, by `kModelError` at most.
  std::vector<FusionCandidate> from_diverse_starts;
  int64_t configurations = 0;       // scored
  int64_t programs = 0;             // distinct lowered programs among them
  int64_t failed = 0;               // XLA or the encoding failed
  int64_t kernels = 0;              // distinct kernels predicted
  double seconds = 0, model_s = 0;  // in all; in the model
  // In the order in which they are worth measuring: by turns, since the second best is mostly a neighbour of the best.
  std::vector<FusionCandidate> finalists() const;
  double per_minute() const { return seconds > 0 ? 60 * static_cast<double>(configurations) / seconds : 0; }
};

// `base`: the decisions that stay as they are (no fusion among them); `edges`: the fusion dimensions under them. Empty
// `best` when nothing is predicted to be faster, when there is no edge, or when the start cannot be scored. Ends early,
// with what was found, when a lane has no time left.
FusionSearchReport search_fusion(const std::vector<FusionLane>& lanes, const Decisions& base,
                                 const std::vector<Dimension>& edges, FusionModel& model,
                                 const FusionSearchOptions& options);

}  // namespace hone::tune
