// Adapts the ranking of options to the machine it runs on. A ridge regression (Hoerl and Kennard 1970) predicts the
// logarithm of the run times' ratio on this machine from the shipped model's scores and the differences between an
// option and the default. It is validated by cross-validation over quarters of the measured kernels, and used only
// while it orders the options of held-back kernels better than the shipped model: noise or too little data changes
// nothing.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cost/kernel_ranker.h"

namespace hone::tune {

// One kernel's measured options, the default left out.
struct AdaptionSample {
  std::string kernel;                         // fingerprint; its hash determines the quarter it is held back with
  std::vector<std::vector<double>> features;  // [options][adaption_width()]
  std::vector<double> margins;                // the shipped model's, of the default over each option
  std::vector<double> log_ratios;             // log(run time / the default's), measured
};

// The head's inputs for each option: the model's margin and the members' spread, the differences between the option's
// features and the default's, the transition (calibration.h), and products of these with each other and with the
// kernel's size. All are 0 for the default, so that its prediction is 0.
std::vector<std::vector<double>> adaption_features(const KernelView& kernel, const cost::RankedScores& ranked,
                                                   int default_option);
// The margins of all options: log(run time ratio) where the scores are run times, else score differences; the default's is 0.
std::vector<double> margins_over_default(const cost::RankedScores& ranked, int default_option);

// y = sum of weights times features, without an intercept.
struct RidgeHead {
  std::vector<double> weights;
  double predict(const std::vector<double>& features) const;
};
// Options of kernels with many options have smaller weights. `penalty` is relative to features scaled to mean square 1.
RidgeHead fit_ridge(const std::vector<AdaptionSample>& samples, double penalty);

// The ranking error of scores for the options of a kernel, including the default: the share of pairs in the wrong
// order, each weighted by the difference of its run times. 0.5 is chance. Nothing for a kernel whose options are all
// equally fast.
std::optional<double> order_error(const std::vector<double>& scores, const std::vector<double>& log_ratios);

struct AdaptionReport {
  int kernels = 0, held_back = 0;                 // in all; those evaluated, each by a head that was fitted without it
  double shipped_error = 0, adapted_error = 0;    // mean order_error of the held-back kernels
  double shipped_regret = 0, adapted_regret = 0;  // mean log(run time of the best ranked option / of the fastest)
  double sureness = 0;                            // the mean gain in order_error over its standard error
  double residual = 0;                            // root mean square of log ratio less prediction, of held-back options
  bool used = false;
  std::string why;  // it is used or not
};

class Adaption {
 public:
  // Reads the samples in `path` that belong to the model of this fingerprint; none if the file does not exist. Lines
  // that cannot be read are skipped. Without a path nothing is stored.
  Adaption(std::string path, std::string model);

  void add(AdaptionSample sample);  // replaces one of the same kernel and appends to the file
  const AdaptionReport& refit();    // from all samples
  const AdaptionReport& report() const { return report_; }
  const RidgeHead* head() const { return report_.used ? &head_ : nullptr; }  // null while the shipped model is better
  size_t size() const { return samples_.size(); }

  static constexpr size_t kLeast = 24;          // kernels needed for an evaluation
  static constexpr size_t kMostKernels = 4000;  // the newest are used

 private:
  void keep(AdaptionSample sample);

  std::string path_, model_;
  std::vector<AdaptionSample> samples_;
  RidgeHead head_;
  AdaptionReport report_;
};

// Ranks with the head where it is used, else with `shipped`; both must outlive it. The head is refitted after several
// new kernels, at least an eighth of all.
class AdaptedRanker : public cost::KernelRanker {
 public:
  AdaptedRanker(cost::KernelRanker& shipped, Adaption& adaption);
  std::string name() const override;
  bool predicts_runtime() const override { return shipped_.predicts_runtime() && !adaption_.head(); }
  std::vector<double> scores(const Kernel& kernel, const std::vector<std::string>& options) override;
  cost::RankedScores rank(const Kernel& kernel, const std::vector<std::string>& options) override;
  // Adds the measurements of a search: values of options with their run time over the default's. Kernels that cannot be
  // encoded are skipped.
  void learn(const Kernel& kernel, const std::vector<std::pair<std::string, double>>& run_time_ratios);

 private:
  cost::KernelRanker& shipped_;
  Adaption& adaption_;
  size_t since_fit_ = 0;
};

}  // namespace hone::tune
