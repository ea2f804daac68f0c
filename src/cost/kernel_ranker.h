// Orders the options of a kernel by a model, so that few of them need measuring (Kaufman et al. 2021, section 7.2: tile
// autotuning with the model's top k).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "graph/kernel.h"

namespace hone::cost {

// A kernel and some of its options as models read them. Run times in the view are 1: no model reads them.
class EncodedOptions {
 public:
  // Throws Error for a kernel without its module, and what reading and encoding throw.
  EncodedOptions(const Kernel& kernel, const std::vector<std::string>& options);
  EncodedOptions(const EncodedOptions&) = delete;  // the view points into it
  EncodedOptions& operator=(const EncodedOptions&) = delete;
  const KernelView& view() const { return view_; }

 private:
  features::EncodedKernel encoded_;
  std::string fingerprint_, kind_;
  std::vector<float> tiles_;
  std::vector<double> unknown_;
  KernelView view_;
};

// What a ranker says about the options of one kernel.
struct RankedScores {
  std::vector<double> scores{};   // lower = faster
  std::vector<double> spreads{};  // how far the scores may be off, in their unit; empty where that is not known
  bool run_times = false;         // the scores are ns
  bool log_ratios = false;        // the scores differ by logarithms of ratios of run times
};

class KernelRanker {
 public:
  virtual ~KernelRanker() = default;
  virtual std::string name() const = 0;
  virtual bool predicts_runtime() const { return false; }  // scores are ns
  // One number per option, lower = faster. Comparable within one kernel only. Throws Error when the kernel cannot be
  // encoded.
  virtual std::vector<double> scores(const Kernel& kernel, const std::vector<std::string>& options) = 0;
  // The same with what is known about the scores; of an ensemble, how far its members are apart.
  virtual RankedScores rank(const Kernel& kernel, const std::vector<std::string>& options) {
    return {.scores = scores(kernel, options), .run_times = predicts_runtime()};
  }
};

// Weights of `hone train`. Throws what load_learned_model throws.
std::unique_ptr<KernelRanker> learned_ranker(const std::string& weights_path);

// The weights `tile` in the folder `models`, or those that come with the program (shipped.h); empty when there are none.
std::string shipped_tile_weights(const std::string& models = "");

// Coefficients saved by `hone eval --save`, or the defaults when the path is empty. `max_isa` as for analytical_member().
std::unique_ptr<KernelRanker> analytical_ranker(const std::string& path, int threads, const std::string& max_isa = "");

// Nothing when the ranker cannot encode the kernel: then the caller searches without it.
std::optional<RankedScores> ranked_or_nothing(const Kernel& kernel, KernelRanker& ranker);

// Options of the kernel in the order in which to try them, the default left out: best score first, equal scores in the
// kernel's own order.
std::vector<int> ranked_options(const Kernel& kernel, const RankedScores& ranked);

}  // namespace hone::cost
