// Which option of a kernel is worth measuring next, and when none is: expected improvement (Jones, Schonlau and Welch 1998,
// "Efficient global optimization of expensive black-box functions", eq. 15) under a Gaussian process (Rasmussen and
// Williams 2006, section 2.7: explicit basis functions) over the options of one kernel.
//
// The unknown is y = log(run time of an option / run time of the default), 0 for the default. Its prior: a slope, itself
// uncertain, times the model's lead of the default over the option, plus a smooth deviation over the options' coordinates
// that is as large as the members of the model disagree. So a measurement says how far the model can be believed on this
// kernel, and what to expect of options near by.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/decision.h"

namespace hone {

// Constants of the prior, chosen on the validation part of the shipped data set (bench/autotune/replay.cc): of those that
// find most with five measurements a kernel the ones that end soonest.
struct BeliefOptions {
  double slope = 0.25, slope_deviation = 0.1;  // log run time per unit of score
  double deviation = 0.35;                     // of an option from the line, where the members agree
  double per_spread = 0.3;                     // more of it per unit the members' scores deviate
  double length = 1;                           // of the smooth part, in coordinates: doublings of a tile's side
  double noise = 0.015;                        // of one measurement

  void validate() const;  // throws Error
};

// An option as a point: log2 of its tile's sides, then its other choices; far apart where the emitter or library differs.
using OptionPoint = std::vector<double>;
std::vector<OptionPoint> option_points(const std::vector<std::string>& options);

class OptionBelief {
 public:
  // `scores`: lower is faster. `spreads`: deviation of the members' scores; of the same unit. All sizes must agree.
  OptionBelief(std::vector<OptionPoint> points, std::vector<double> scores, const std::vector<double>& spreads,
               int default_option, const BeliefOptions& options = {});

  void observe(int option, double log_ratio);  // measured: log(its run time / default's)
  void rule_out(int option);                   // cannot be had: it failed, or its outputs differ

  double mean(int option) const { return mean_.at(option); }  // of y, given all observations
  double deviation(int option) const;
  double best() const { return best_; }  // least observed y, at most 0: the default can always be had
  // What measuring this option is expected to gain over the best, in logarithms; 0 once it is observed or ruled out.
  double expected_improvement(int option) const;
  // The option with the largest; nothing when that is below `worth`.
  std::optional<int> next(double worth) const;
  // The option with the least mean that is neither observed nor ruled out; nothing when there is none.
  std::optional<int> likeliest() const;

 private:
  double prior_covariance(int a, int b) const;

  BeliefOptions options_;
  std::vector<OptionPoint> points_;
  std::vector<double> leads_, scales_;        // score less the default's; deviation of the smooth part
  std::vector<double> mean_, variance_;       // posterior
  std::vector<std::vector<double>> factors_;  // of the covariance that observations took away, one row each
  std::vector<bool> closed_;
  double best_ = 0;
};

}  // namespace hone
