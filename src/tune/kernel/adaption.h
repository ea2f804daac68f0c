// Adapts the ranking of options to the machine it runs on: a ridge regression (Hoerl and Kennard 1970) from what the
// shipped model says, and how an option differs from the default, to the logarithm of the run times' ratio as measured here.
// A quarter of the measured kernels at a time is held back from fitting, and the head is used only while such heads order
// the options of what was held back better than the shipped model does: what is noise, or too little, changes nothing.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cost/kernel_ranker.h"

namespace hone::tune {

// One kernel's measured options, the default left out.
struct AdaptionSample {
  std::string kernel;                         // fingerprint; its hash says with which quarter it is held back
  std::vector<std::vector<double>> features;  // [options][adaption_width()]
  std::vector<double> margins;                // the shipped model's, of the default over each option
  std::vector<double> log_ratios;             // log(run time / the default's), measured
};

// What the head sees of each option: the model's margin and the members' spread, how the option's features differ from the
// default's, the transition (calibration.h), and products of these with each other and with the kernel's size. All 0
// for the default, so that its prediction is 0.
std::vector<std::vector<double>> adaption_features(const KernelView& kernel, const cost::RankedScores& ranked,
                                                   int default_option);
// The margins of all options: log(run time ratio) where the scores are run times, else score differences; the default's is 0.
std::vector<double> margins_over_default(const cost::RankedScores& ranked, int default_option);

// y = sum of weights times features, no constant.
struct RidgeHead {
  std::vector<double> weights;
  double predict(const std::vector<double>& features) const;
};
// Samples of many options count less per option. `penalty` is relative to features scaled to mean square 1.
RidgeHead fit_ridge(const std::vector<AdaptionSample>& samples, double penalty);

// How wrongly scores order the options of a kernel, the default among them: the share of pairs in the wrong order, each
// weighted by how much its run times differ. 0.5 is chance. Nothing for a kernel whose options are all alike.
std::optional<double> order_error(const std::vector<double>& scores, const std::vector<double>& log_ratios);

struct AdaptionReport {
  int kernels = 0, held_back = 0;                 // in all; of them judged, each by a head that was fitted without it
  double shipped_error = 0, adapted_error = 0;    // mean order_error of the held-back kernels
  double shipped_regret = 0, adapted_regret = 0;  // mean log(run time of the option liked best / of the best)
  double sureness = 0;                            // the mean gain in order_error over its standard error
  double residual = 0;                            // root mean square of log ratio less prediction, of held-back options
  bool used = false;
  std::string why;  // or why not
};

class Adaption {
 public:
  // Samples of `path` taken with the model of this fingerprint; none when there is no such file. Lines that cannot be read
  // are passed over. Without a path nothing is kept.
  Adaption(std::string path, std::string model);

  void add(AdaptionSample sample);  // replaces one of the same kernel, and is appended to the file
  const AdaptionReport& refit();    // from all samples
  const AdaptionReport& report() const { return report_; }
  const RidgeHead* head() const { return report_.used ? &head_ : nullptr; }  // null while the shipped model is better
  size_t size() const { return samples_.size(); }

  static constexpr size_t kLeast = 24;          // kernels it takes to judge
  static constexpr size_t kMostKernels = 4000;  // the newest

 private:
  void keep(AdaptionSample sample);

  std::string path_, model_;
  std::vector<AdaptionSample> samples_;
  RidgeHead head_;
  AdaptionReport report_;
};

// Ranks by the head where it is used, else as `shipped` does; both must outlive it. Learns from every search: see
// `learn`. The head is fitted anew when there are a few more kernels, an eighth at least.
class AdaptedRanker : public cost::KernelRanker {
 public:
  AdaptedRanker(cost::KernelRanker& shipped, Adaption& adaption);
  std::string name() const override;
  bool predicts_runtime() const override { return shipped_.predicts_runtime() && !adaption_.head(); }
  std::vector<double> scores(const Kernel& kernel, const std::vector<std::string>& options) override;
  cost::RankedScores rank(const Kernel& kernel, const std::vector<std::string>& options) override;
  // What a search measured: values of options with their run time over the default's. Kernels that cannot be encoded are
  // passed over.
  void learn(const Kernel& kernel, const std::vector<std::pair<std::string, double>>& run_time_ratios);

 private:
  cost::KernelRanker& shipped_;
  Adaption& adaption_;
  size_t since_fit_ = 0;
};

}  // namespace hone::tune
