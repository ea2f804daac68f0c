// What the next experiment of a kind is worth: the gain that is expected of it, per second.
//
// Whether an experiment is kept is a Bernoulli variable with a Beta prior, its gain and its cost are means with a prior
// of the same weight, so an estimate begins at the prior and moves with every result. Gains are natural logarithms of
// speed-ups. An experiment that touches a share s of a program's time and makes that exp(g) times as fast gains the program
// -ln(1 - s (1 - exp(-g))) (Amdahl's law), so kinds are compared whatever they touch.
#pragma once

namespace hone {

// Of the program when a share of its time is exp(`gain`) times as fast. share: 0 to 1; gain: 0 or more.
double program_gain(double share, double gain);
// The reverse: of the share, at most ln 16, when the whole program gained so much.
double touched_gain(double share, double program_gain);

// What is known about a kind of experiment before the first of a run.
struct YieldPrior {
  double kept = 0.1;  // of all experiments, strictly between 0 and 1
  double gain = 0.1;  // of the time that one touches, where it is kept
  double weight = 4;  // experiments that this counts as
};

class YieldBelief {
 public:
  explicit YieldBelief(const YieldPrior& prior);  // throws Error for a prior that is none

  // One experiment: what the touched time gained (0 = it was not kept), the seconds that were predicted and that it took.
  void observe(double gain, double predicted_s, double took_s);

  double kept() const;                      // probability
  double gain() const;                      // where kept
  double cost_s(double predicted_s) const;  // corrected by what earlier predictions were worth
  // Expected gain of the program by one experiment.
  double expected(double share) const;
  // The same per second.
  double rate(double share, double predicted_s) const;

 private:
  YieldPrior prior_;
  int tried_ = 0, kept_ = 0;
  double gains_ = 0;                     // sum of those kept
  double predicted_s_ = 0, took_s_ = 0;  // sums
};

}  // namespace hone
