#include "search/yield_belief.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hone {

namespace {

constexpr double kMostGain = 2.772588722239781;  // ln 16
constexpr double kLeastSeconds = 1e-3;
constexpr double kCostWeight = 2;  // predicted experiments that count as exact before the first was timed

}  // namespace

double program_gain(double share, double gain) {
  share = std::clamp(share, 0.0, 1.0);
  const double left = 1 - share * (1 - std::exp(-std::clamp(gain, 0.0, kMostGain)));
  return -std::log(left);
}

double touched_gain(double share, double program_gain) {
  if (!(program_gain > 0)) return 0;
  if (!(share > 0)) return kMostGain;
  const double left = 1 - (1 - std::exp(-program_gain)) / std::min(share, 1.0);
  return left <= std::exp(-kMostGain) ? kMostGain : -std::log(left);
}

YieldBelief::YieldBelief(const YieldPrior& prior) : prior_(prior) {
  if (!(prior.kept > 0 && prior.kept < 1) || !(prior.gain > 0) || !(prior.weight > 0))
    throw Error("a kind of experiment needs a probability between 0 and 1, and a gain and a weight above 0");
}

void YieldBelief::observe(double gain, double predicted_s, double took_s) {
  ++tried_;
  if (gain > 0) {
    ++kept_;
    gains_ += std::min(gain, kMostGain);
  }
  predicted_s_ += std::max(predicted_s, kLeastSeconds);
  took_s_ += std::max(took_s, 0.0);
}

double YieldBelief::kept() const { return (prior_.kept * prior_.weight + kept_) / (prior_.weight + tried_); }

double YieldBelief::gain() const {
  const double weight = prior_.kept * prior_.weight;
  return (prior_.gain * weight + gains_) / (weight + kept_);
}

double YieldBelief::cost_s(double predicted_s) const {
  predicted_s = std::max(predicted_s, kLeastSeconds);
  if (tried_ == 0) return predicted_s;
  const double prior_s = kCostWeight * predicted_s_ / tried_;  // so many of the size seen, as predicted
  return predicted_s * (prior_s + took_s_) / (prior_s + predicted_s_);
}

double YieldBelief::expected(double share) const { return kept() * program_gain(share, gain()); }

double YieldBelief::rate(double share, double predicted_s) const {
  return expected(share) / std::max(cost_s(predicted_s), kLeastSeconds);
}

}  // namespace hone
