#include "kernels/sort.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "base/error.h"
#include "kernels/highway_sort.h"
#include "tests/skip.h"

namespace hone {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

// The places that each row's elements come from.
std::vector<uint32_t> order_of(SortPlan plan, const void* keys) {
  std::vector<uint32_t> places(plan.rows * plan.length), sorted(places.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<uint32_t>(i % plan.length);
  std::vector<uint64_t> copy(places.size());
  plan.bytes = {plan.bytes[0], 4};
  const void* arrays[] = {keys, places.data()};
  void* results[] = {copy.data(), sorted.data()};
  sort_rows(SortPlan::from_text(plan.text()), arrays, results);
  return sorted;
}

bool skipped() {
  if (!has_highway_sort()) skip_case("libhwy1 is not installed");
  return !has_highway_sort();
}

}  // namespace

TEST_CASE("rows are sorted as std::stable_sort sorts them", "[kernels]") {
  if (skipped()) return;
  std::mt19937 generator(3);
  for (const auto& [rows, length] : {std::pair{3, 7}, {2, 47}, {2, 48}, {5, 1000}, {1, 70000}}) {
    std::vector<int32_t> keys(rows * length);
    for (int32_t& key : keys) key = static_cast<int32_t>(generator() % 50) - 25;
    for (const bool descending : {false, true}) {
      const std::vector<uint32_t> order =
          order_of({.key = SortKey::Signed, .descending = descending, .rows = rows, .length = length, .bytes = {4}},
                   keys.data());
      for (int row = 0; row < rows; ++row) {
        const int32_t* begin = keys.data() + row * length;
        std::vector<uint32_t> expected(length);
        std::iota(expected.begin(), expected.end(), 0);
        std::stable_sort(expected.begin(), expected.end(), [&](uint32_t a, uint32_t b) {
          return descending ? begin[a] > begin[b] : begin[a] < begin[b];
        });
        CHECK(std::equal(expected.begin(), expected.end(), order.begin() + row * length));
      }
    }
  }
}

TEST_CASE("floats are in total order, or with equal zeros and no numbers last", "[kernels]") {
  if (skipped()) return;
  const std::vector<float> keys = {1, -0.0f, kNan, -kInfinity, 0, -kNan, kInfinity, -1, kNan, 0};
  SortPlan plan{.key = SortKey::Float, .rows = 1, .length = 10, .bytes = {4}};
  CHECK(order_of(plan, keys.data()) == std::vector<uint32_t>{5, 3, 7, 1, 4, 9, 0, 6, 2, 8});
  plan.zeros_equal = plan.nans_equal = true;
  CHECK(order_of(plan, keys.data()) == std::vector<uint32_t>{3, 7, 1, 4, 9, 0, 6, 2, 5, 8});
  plan.descending = true;
  CHECK(order_of(plan, keys.data()) == std::vector<uint32_t>{2, 5, 8, 6, 0, 1, 4, 9, 7, 3});
}

TEST_CASE("half-precision keys", "[kernels]") {
  if (skipped()) return;
  // 1, -2, NaN, -0, 0, -inf
  const std::vector<uint16_t> halves = {0x3C00, 0xC000, 0x7E00, 0x8000, 0x0000, 0xFC00};
  const std::vector<uint16_t> bfloats = {0x3F80, 0xC000, 0x7FC0, 0x8000, 0x0000, 0xFF80};
  for (const auto& [type, keys] : {std::pair{SortKey::Half, halves}, {SortKey::BFloat, bfloats}}) {
    SortPlan plan{.key = type, .zeros_equal = true, .nans_equal = true, .rows = 1, .length = 6, .bytes = {2}};
    CHECK(order_of(plan, keys.data()) == std::vector<uint32_t>{5, 1, 3, 4, 0, 2});
  }
}

TEST_CASE("configurations of sorts that are none are refused", "[kernels]") {
  for (const char* text : {"", "0 0 0 0 0 1 2 ", "0 1 0 0 0 1 2 4 ", "9 0 0 0 0 1 2 4 ", "2 0 0 0 0 1 2 8 ",
                           "0 0 0 0 0 -1 2 4 ", "0 0 0 0 0 1 2 4", "x"})
    CHECK_THROWS_AS(SortPlan::from_text(text), Error);
}

}  // namespace hone
