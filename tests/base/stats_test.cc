#include "base/stats.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/rng.h"

using namespace hone;

TEST_CASE("median and quantiles") {
  CHECK(median({3}) == 3);
  CHECK(median({5, 1, 3}) == 3);
  CHECK(median({4, 1, 3, 2}) == 2.5);
  CHECK(quantile({0, 10}, 0.25) == 2.5);
  CHECK(quantile({3, 1, 2}, 0) == 1);
  CHECK(quantile({3, 1, 2}, 1) == 3);
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(median({infinity, infinity}) == infinity);
  CHECK(median({1, infinity, 2}) == 2);
  CHECK_THROWS_AS(median({}), InternalError);
}

TEST_CASE("geometric mean") {
  CHECK(geometric_mean({2, 8}) == Approx(4));
  CHECK(geometric_mean({0.5, 2}) == Approx(1));
  CHECK_THROWS_AS(geometric_mean({}), InternalError);
}

TEST_CASE("the median's interval uses the tabled order statistics") {
  const auto ranks = [](int n, double confidence) {
    std::vector<double> values;
    for (int i = n; i >= 1; --i) values.push_back(i);
    return median_interval(values, confidence);
  };
  // Published tables, 95 %: n = 10: 2nd and 9th (97.9 %), 20: 6th and 15th (95.9 %), 30: 10th and 21st (95.7 %).
  CHECK(ranks(10, 0.95).low == 2);
  CHECK(ranks(10, 0.95).high == 9);
  CHECK(ranks(10, 0.95).confidence == Approx(0.9785).margin(1e-4));
  CHECK(ranks(20, 0.95).low == 6);
  CHECK(ranks(20, 0.95).high == 15);
  CHECK(ranks(30, 0.95).low == 10);
  CHECK(ranks(30, 0.95).high == 21);
  CHECK(ranks(6, 0.95).low == 1);
  CHECK(ranks(6, 0.95).confidence == Approx(0.96875));
  CHECK(ranks(5, 0.95).confidence == Approx(0.9375));
  CHECK(ranks(1, 0.95).confidence == 0);
  CHECK(ranks(10'000, 0.95).low > 4890);
}

TEST_CASE("the median's interval has the stated coverage") {
  Rng rng(1);
  int covered = 0;
  constexpr int kSamples = 2000;
  for (int sample = 0; sample < kSamples; ++sample) {
    std::vector<double> values(15);
    for (double& value : values) value = std::pow(rng.uniform(), 3);  // skewed; true median 1/8
    const Interval interval = median_interval(values);
    covered += interval.low <= 0.125 && 0.125 <= interval.high;
  }
  CHECK(covered / static_cast<double>(kSamples) == Approx(0.9648).margin(0.015));
}
