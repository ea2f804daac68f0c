#include "search/option_belief.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "base/error.h"
#include "graph/kernel_option.h"

namespace hone {

namespace {

constexpr double kFarApart = 6;  // between emitters and libraries
constexpr double kFlagStep = 1;  // between options that differ in one flag

double normal_density(double z) { return std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi); }
double normal_below(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

}  // namespace

void BeliefOptions::validate() const {
  if (!(slope_deviation >= 0) || !(deviation > 0) || !(per_spread >= 0) || !(length > 0) || !(noise > 0))
    throw Error("deviations and lengths of a belief must be positive");
}

std::vector<OptionPoint> option_points(const std::vector<std::string>& options) {
  std::vector<KernelOption> values;
  std::map<KernelOption::Emitter, size_t> emitters;  // a separate coordinate for each, as for each flag
  std::map<std::string, size_t> flags;
  size_t rank = 0;
  for (const std::string& text : options) {
    values.push_back(KernelOption::parse(text));
    const KernelOption& value = values.back();
    rank = std::max(rank, value.tile.size());
    emitters.try_emplace(value.emitter, emitters.size());
    if (const std::string text = value.flags_text(); !text.empty()) flags.try_emplace(text, flags.size());
  }
  std::vector<OptionPoint> points;
  for (const KernelOption& value : values) {
    OptionPoint point(rank + emitters.size() + flags.size());
    for (size_t i = 0; i < value.tile.size(); ++i)
      point[i] = std::log2(static_cast<double>(std::max<int64_t>(1, value.tile[i])));
    point[rank + emitters.at(value.emitter)] = kFarApart;
    if (const std::string text = value.flags_text(); !text.empty())
      point[rank + emitters.size() + flags.at(text)] = kFlagStep;
    points.push_back(std::move(point));
  }
  return points;
}

std::vector<OptionPoint> unrelated_points(size_t options) {
  std::vector<OptionPoint> points(options, OptionPoint(options));
  for (size_t i = 0; i < options; ++i) points[i][i] = kFarApart;
  return points;
}

OptionBelief::OptionBelief(std::vector<OptionPoint> points, std::vector<double> scores,
                           const std::vector<double>& spreads, int default_option, const BeliefOptions& options)
    : options_(options), points_(std::move(points)), leads_(std::move(scores)), closed_(points_.size()) {
  options_.validate();
  const size_t count = points_.size();
  if (leads_.size() != count || spreads.size() != count || default_option < 0 ||
      default_option >= static_cast<int>(count))
    throw InternalError("the sizes of a belief do not agree with its options");
  const double own = leads_[default_option];
  for (size_t i = 0; i < count; ++i) {
    leads_[i] -= own;
    scales_.push_back(std::hypot(options_.deviation, options_.per_spread * spreads[i]));
    mean_.push_back(options_.slope * leads_[i]);
  }
  for (size_t i = 0; i < count; ++i) variance_.push_back(prior_covariance(static_cast<int>(i), static_cast<int>(i)));
  observe(default_option, 0);
}

double OptionBelief::prior_covariance(int a, int b) const {
  double squares = 0;
  for (size_t i = 0; i < points_[a].size(); ++i)
    squares += (points_[a][i] - points_[b][i]) * (points_[a][i] - points_[b][i]);
  return options_.slope_deviation * options_.slope_deviation * leads_[a] * leads_[b] +
         scales_[a] * scales_[b] * std::exp(-squares / (2 * options_.length * options_.length));
}

// One recursive update of the posterior, without a matrix inversion.
void OptionBelief::observe(int option, double log_ratio) {
  const double surprise = log_ratio - mean_.at(option);
  std::vector<double> covariance(points_.size());
  for (size_t i = 0; i < points_.size(); ++i) {
    covariance[i] = prior_covariance(static_cast<int>(i), option);
    for (const std::vector<double>& factor : factors_) covariance[i] -= factor[i] * factor[option];
  }
  const double total = std::max(0.0, covariance[option]) + options_.noise * options_.noise;
  const double root = std::sqrt(total);
  for (size_t i = 0; i < points_.size(); ++i) {
    mean_[i] += covariance[i] / total * surprise;
    variance_[i] = std::max(0.0, variance_[i] - covariance[i] * covariance[i] / total);
    covariance[i] /= root;
  }
  factors_.push_back(std::move(covariance));
  closed_[option] = true;
  best_ = std::min(best_, log_ratio);
}

void OptionBelief::rule_out(int option) { closed_.at(option) = true; }

double OptionBelief::deviation(int option) const { return std::sqrt(variance_.at(option)); }

double OptionBelief::expected_improvement(int option, double best) const {
  if (closed_.at(option)) return 0;
  const double gain = best - mean_[option], spread = deviation(option);
  if (spread <= 0) return std::max(0.0, gain);
  const double z = gain / spread;
  return gain * normal_below(z) + spread * normal_density(z);
}

std::optional<int> OptionBelief::next(double worth) const {
  std::optional<int> best;
  double most = 0;
  for (int i = 0; i < static_cast<int>(points_.size()); ++i) {
    const double gain = expected_improvement(i);
    if (gain < worth || gain <= most) continue;
    best = i;
    most = gain;
  }
  return best;
}

std::optional<int> OptionBelief::likeliest() const {
  std::optional<int> best;
  for (int i = 0; i < static_cast<int>(points_.size()); ++i)
    if (!closed_[i] && (!best || mean_[i] < mean_[*best])) best = i;
  return best;
}

}  // namespace hone
