#include "base/stats.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace hone {
namespace {

void require_values(const std::vector<double>& values) {
  if (values.empty()) throw InternalError("statistics of an empty sample");
}

double sorted_quantile(const std::vector<double>& sorted, double q) {
  const double position = std::clamp(q, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = position - static_cast<double>(below);
  // Equal values are not interpolated: infinite ones would become NaN.
  return share == 0 || sorted[below] == sorted[above] ? sorted[below]
                                                      : sorted[below] * (1 - share) + sorted[above] * share;
}

}  // namespace

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double quantile(std::vector<double> values, double q) {
  require_values(values);
  std::sort(values.begin(), values.end());
  return sorted_quantile(values, q);
}

double geometric_mean(const std::vector<double>& values) {
  require_values(values);
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

Interval median_interval(std::vector<double> values, double confidence) {
  require_values(values);
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  const auto probability = [&](size_t k) {  // of exactly k values below the median
    const double a = static_cast<double>(n), b = static_cast<double>(k);
    return std::exp(std::lgamma(a + 1) - std::lgamma(b + 1) - std::lgamma(a - b + 1) - a * std::log(2.0));
  };
  // [value k, value n-1-k] misses the median if at most k values lie on one side of it.
  size_t k = 0;
  double missed = 2 * probability(0);
  while (2 * (k + 1) < n - 1) {
    const double wider_miss = missed + 2 * probability(k + 1);
    if (1 - wider_miss < confidence) break;
    missed = wider_miss;
    ++k;
  }
  return {values[k], values[n - 1 - k], std::max(0.0, 1 - missed)};
}

}  // namespace hone
