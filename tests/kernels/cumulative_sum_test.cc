#include "kernels/cumulative_sum.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "base/error.h"

namespace hone {
namespace {

template <class T>
void check_sums(SumType type, int64_t outer, int64_t length, int64_t inner, bool from_end) {
  INFO(outer << " x " << length << " x " << inner << (from_end ? " from the end" : ""));
  std::mt19937 generator(5);
  std::vector<T> values(outer * length * inner), sums(values.size());
  for (T& value : values) value = static_cast<T>(static_cast<int>(generator() % 2001) - 1000);
  const CumulativePlan plan{type, from_end, outer, length, inner};
  cumulative_sum(CumulativePlan::from_text(plan.text()), values.data(), sums.data());
  bool equal = true;  // whole numbers, of which every order has the same sum
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      T sum = 0;
      for (int64_t k = 0; k < length; ++k) {
        const int64_t at = (o * length + (from_end ? length - 1 - k : k)) * inner + i;
        equal &= sums[at] == (sum += values[at]);
      }
    }
  CHECK(equal);
}

}  // namespace

TEST_CASE("sums up to each element, over the last and other dimensions", "[kernels]") {
  for (const bool from_end : {false, true})
    for (const int64_t length : {1, 7, 31, 32, 33, 255, 2048, 2049, 5003}) {
      check_sums<float>(SumType::F32, 2, length, 1, from_end);
      check_sums<double>(SumType::F64, 1, length, 3, from_end);
      check_sums<int32_t>(SumType::S32, 3, length, 2, from_end);
    }
  check_sums<float>(SumType::F32, 2, 0, 1, false);
}

TEST_CASE("configurations of cumulative sums that are none are refused", "[kernels]") {
  for (const char* text : {"", "0 0 1 2 ", "3 0 1 2 3 ", "0 0 1 -2 3 ", "0 0 1 2 3 4 ", "0 0 1 2 3", "y"})
    CHECK_THROWS_AS(CumulativePlan::from_text(text), Error);
}

}  // namespace hone
