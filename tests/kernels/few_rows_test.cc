#include "kernels/few_rows.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/error.h"

namespace hone {
namespace {

double value_of(float value) { return value; }

double value_of(uint16_t half) {
  const uint32_t bits = uint32_t{half} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void set(float& element, float drawn) { element = drawn; }

void set(uint16_t& element, float drawn) {
  uint32_t bits;
  std::memcpy(&bits, &drawn, sizeof bits);
  element = static_cast<uint16_t>(bits >> 16);
}

// The largest difference from sums in f64.
template <class Element>
double worst_of(const RowsPlan& plan, std::mt19937& generator) {
  std::normal_distribution<float> normal;
  std::vector<float> left(plan.rows * plan.depth), result(plan.rows * plan.columns);
  std::vector<Element> matrix(plan.depth * plan.columns);
  for (float& value : left) value = normal(generator);
  for (Element& element : matrix) set(element, normal(generator));
  multiply_rows(RowsPlan::from_text(plan.text()), left.data(), matrix.data(), result.data());
  double worst = 0;
  for (int64_t m = 0; m < plan.rows; ++m)
    for (int64_t j = 0; j < plan.columns; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < plan.depth; ++k)
        sum += left[m * plan.depth + k] * value_of(matrix[plan.by_column ? j * plan.depth + k : k * plan.columns + j]);
      worst = std::max(worst, std::fabs(sum - result[m * plan.columns + j]));
    }
  return worst;
}

}  // namespace

TEST_CASE("a few rows times a matrix of bf16 or f32, stored either way", "[kernels]") {
  std::mt19937 generator(1);
  for (const bool by_column : {false, true})
    for (int64_t rows = 1; rows <= kMostRows; ++rows)
      for (const auto& [depth, columns] : {std::pair{1, 1}, {16, 5}, {37, 70}, {100, 2100}}) {
        INFO(rows << " x " << depth << " x " << columns << (by_column ? " by column" : ""));
        CHECK(worst_of<uint16_t>({rows, depth, columns, by_column}, generator) < 1e-5 * std::sqrt(depth));
        CHECK(worst_of<float>({rows, depth, columns, by_column, /*wide=*/true}, generator) < 1e-5 * std::sqrt(depth));
      }
}

TEST_CASE("configurations of products of a few rows that are none are refused", "[kernels]") {
  for (const char* text : {"", "0 1 2 0 ", "5 1 2 0 0 ", "1 2 3 0 ", "1 2 3 0 0", "z"})
    CHECK_THROWS_AS(RowsPlan::from_text(text), Error);
}

}  // namespace hone
