// Ranks the options of a kernel with a model, so that few of them need measuring (Kaufman et al. 2021, section 7.2: tile
// autotuning with the model's top k).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "features/cpu.h"
#include "graph/kernel.h"

namespace hone::cost {

// A kernel and some of its options, encoded for models. Run times in the view are 1, since no model reads them.
class EncodedOptions {
 public:
  // Throws Error for a kernel without its module, and the errors of reading and encoding.
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

// A ranker's scores of the options of one kernel.
struct RankedScores {
  std::vector<double> scores{};   // lower = faster
  std::vector<double> spreads{};  // uncertainty of the scores, in their unit; empty if unknown
  bool run_times = false;         // the scores are ns
  bool log_ratios = false;        // differences of scores are logarithms of ratios of run times
};

class KernelRanker {
 public:
  virtual ~KernelRanker() = default;
  virtual std::string name() const = 0;
  virtual bool predicts_runtime() const { return false; }  // scores are ns
  // One number per option, lower = faster. Comparable within one kernel only. Throws Error when the kernel cannot be
  // encoded.
  virtual std::vector<double> scores(const Kernel& kernel, const std::vector<std::string>& options) = 0;
  // The same with properties of the scores; for an ensemble, with the spread of its members.
  virtual RankedScores rank(const Kernel& kernel, const std::vector<std::string>& options) {
    return {.scores = scores(kernel, options), .run_times = predicts_runtime()};
  }
};

// Weights of `hone train` or trees. Throws the errors of load_learned_model.
std::unique_ptr<KernelRanker> learned_ranker(const std::string& weights_path,
                                             const features::Cpu& cpu = features::this_cpu(1));

// The weights `tile` in the folder `models`, or the shipped ones (shipped.h); empty if there are none.
std::string shipped_tile_weights(const std::string& models = "");

// Coefficients saved by `hone eval --save`, or the defaults if the path is empty.
std::unique_ptr<KernelRanker> analytical_ranker(const std::string& path, const features::Cpu& cpu);

// nullopt if the ranker cannot encode the kernel; the caller then searches without it.
std::optional<RankedScores> ranked_or_nothing(const Kernel& kernel, KernelRanker& ranker);

// Options of the kernel without the default in the order to try them: best score first, equal scores in the kernel's
// order.
std::vector<int> ranked_options(const Kernel& kernel, const RankedScores& ranked);

}  // namespace hone::cost
