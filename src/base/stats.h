// Robust statistics of small samples. All throw InternalError on an empty sample.
#pragma once

#include <vector>

namespace hone {

double median(std::vector<double> values);
// Linear interpolation between order statistics; q in [0, 1].
double quantile(std::vector<double> values, double q);
double geometric_mean(const std::vector<double>& values);  // values > 0

struct Interval {
  double low = 0, high = 0;
  double confidence = 0;  // actual coverage: below the requested one when the sample is too small
};

// Distribution-free confidence interval of the median: the narrowest symmetric pair of order statistics with at least
// the given coverage under the binomial law (David and Nagaraja, Order Statistics, 7.1). Fewer than 6 values cannot
// reach 95 %: the result is then the range of the sample with its actual coverage.
Interval median_interval(std::vector<double> values, double confidence = 0.95);

}  // namespace hone
