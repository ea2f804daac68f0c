// Decides which option of a kernel to measure next, and when to stop: expected improvement (Jones, Schonlau and Welch 1998,
// "Efficient global optimization of expensive black-box functions", eq. 15) under a Gaussian process (Rasmussen and
// Williams 2006, section 2.7: explicit basis functions) over the options of one kernel.
//
// The unknown is y = log(run time of an option / run time of the default), 0 for the default. Its prior: a slope, itself
// uncertain, times the difference of the model's scores of option and default, plus a smooth deviation over the options'
// coordinates that grows with the disagreement of the model's members. A measurement therefore updates how reliable the
// model is on this kernel, and the estimates of similar options.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/decision.h"

namespace hone {

// Constants of the prior, chosen on the validation part of the shipped data set (bench/autotune/replay.cc): of those with the
// largest gain from five measurements per kernel, the ones that stop first.
struct BeliefOptions {
  double slope = 0.25, slope_deviation = 0.1;  // log run time per unit of score
  double deviation = 0.35;                     // of an option from the linear part if the members agree
  double per_spread = 0.3;                     // added to it per unit of the members' standard deviation
  double length = 1;                           // length scale of the smooth part, in doublings of a tile's side
  double noise = 0.015;                        // of one measurement

  void validate() const;  // throws Error
};

// An option as a point: log2 of its tile's sides, then its other choices; far apart if the emitter or library differs.
using OptionPoint = std::vector<double>;
std::vector<OptionPoint> option_points(const std::vector<std::string>& options);
// Options that have nothing in common but the scale of their scores, as the forms of an operation.
std::vector<OptionPoint> unrelated_points(size_t options);

class OptionBelief {
 public:
  // `scores`: lower is faster. `spreads`: deviation of the members' scores, in the same unit. All sizes must agree.
  OptionBelief(std::vector<OptionPoint> points, std::vector<double> scores, const std::vector<double>& spreads,
               int default_option, const BeliefOptions& options = {});

  void observe(int option, double log_ratio);  // measured: log(its run time / default's)
  void rule_out(int option);                   // excludes it: it failed, or its outputs differ

  double mean(int option) const { return mean_.at(option); }  // of y, given all observations
  double deviation(int option) const;
  double best() const { return best_; }  // least observed y, at most 0, that of the default
  // What measuring this option is expected to gain over the best, in logarithms; 0 once it is observed or ruled out.
  double expected_improvement(int option) const { return expected_improvement(option, best_); }
  // The same over `best`, which some other option may have reached.
  double expected_improvement(int option, double best) const;
  // The option with the largest expected improvement; nullopt if that is below `worth`.
  std::optional<int> next(double worth) const;
  // The option with the least mean that is neither observed nor ruled out; nullopt if there is none.
  std::optional<int> likeliest() const;

 private:
  double prior_covariance(int a, int b) const;

  BeliefOptions options_;
  std::vector<OptionPoint> points_;
  std::vector<double> leads_, scales_;        // score - the default's; deviation of the smooth part
  std::vector<double> mean_, variance_;       // posterior
  std::vector<std::vector<double>> factors_;  // of the covariance removed by observations, one row each
  std::vector<bool> closed_;
  double best_ = 0;
};

}  // namespace hone
