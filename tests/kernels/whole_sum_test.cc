#include "kernels/whole_sum.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "base/error.h"
#include "tests/with_lanes.h"

namespace hone {
namespace {

// Of values that begin `offset` elements behind an aligned address.
template <class T>
T sum_of(const std::vector<T>& values, int64_t offset) {
  const WholeSumPlan plan{sizeof(T) == 8, static_cast<int64_t>(values.size()) - offset};
  T sum = -1;
  whole_sum(WholeSumPlan::from_text(plan.text()), values.data() + offset, &sum);
  return sum;
}

template <class T>
void check_whole_numbers() {
  std::mt19937 generator(3);
  for (const int64_t count : {0, 1, 15, 127, 128, 129, 1023, 16384, 16385, 40000})
    for (const int64_t offset : {0, 1, 3}) {
      INFO(count << " elements from " << offset);
      std::vector<T> values(count + offset);
      for (T& value : values) value = static_cast<T>(static_cast<int>(generator() % 201) - 100);
      T expected = 0;  // whole numbers, of which every order has the same sum
      for (int64_t i = offset; i < count + offset; ++i) expected += values[i];
      CHECK(sum_of(values, offset) == expected);
    }
}

}  // namespace

TEST_CASE("sums of all elements of any number, at any address", "[kernels]") {
  const WithLanes versions(GENERATE(4, 8, 16));
  check_whole_numbers<float>();
  check_whole_numbers<double>();
}

TEST_CASE("a sum of millions of f32 keeps its digits", "[kernels]") {
  const WithLanes versions(GENERATE(4, 8, 16));
  std::mt19937 generator(4);
  std::uniform_real_distribution<float> random(0, 1);
  std::vector<float> values(4 << 20);
  double expected = 0;
  for (float& value : values) expected += value = random(generator);
  CHECK(std::abs(sum_of(values, 0) / expected - 1) < 1e-6);
}

TEST_CASE("infinities and what is no number reach the sum", "[kernels]") {
  const WithLanes versions(GENERATE(4, 8, 16));
  std::vector<float> values(20000, 1);
  values[12345] = INFINITY;
  CHECK(sum_of(values, 0) == INFINITY);
  values[19999] = -INFINITY;
  CHECK(std::isnan(sum_of(values, 0)));
}

TEST_CASE("configurations of whole sums that are none are refused", "[kernels]") {
  for (const char* text : {"", "0 ", "2 5 ", "0 -5 ", "0 5", "0 5 1 ", "y"})
    CHECK_THROWS_AS(WholeSumPlan::from_text(text), Error);
}

}  // namespace hone
