#include "kernels/few_rows.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/error.h"
#include "kernels/few_rows_sets.h"

namespace hone {
namespace {

double value_of(float value) { return value; }
double value_of(int8_t value) { return value; }

double value_of(Bf16 half) {
  const uint32_t bits = uint32_t{half.bits} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

double value_of(F16 half) {
  const int exponent = half.bits >> 10 & 31, mantissa = half.bits & 1023;
  const double sign = half.bits >> 15 != 0 ? -1 : 1;
  if (exponent == 31)
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

void set(float& element, float drawn) { element = drawn; }
void set(int8_t& element, float drawn) { element = static_cast<int8_t>(std::fmod(40 * drawn, 128)); }

void set(Bf16& element, float drawn) {
  uint32_t bits;
  std::memcpy(&bits, &drawn, sizeof bits);
  element.bits = static_cast<uint16_t>(bits >> 16);
}

// Mostly normal numbers around 1, some subnormal.
void set(F16& element, float drawn) {
  const auto bits = static_cast<uint16_t>(std::fabs(drawn) * 4096);
  element.bits = static_cast<uint16_t>(bits % 1024 | (bits % 16 == 0 ? 0 : 15) << 10 | (drawn < 0 ? 1 << 15 : 0));
}

using Multiply = decltype(&multiply_rows);

// The largest difference from sums in f64, in multiples of the root of the sum of the squares.
template <class Element>
double worst_of(Multiply multiply, const RowsPlan& plan, std::mt19937& generator) {
  std::normal_distribution<float> normal;
  std::vector<float> left(plan.rows * plan.depth), result(plan.rows * plan.columns, NAN);
  std::vector<Element> matrix(plan.depth * plan.columns);
  for (float& value : left) value = normal(generator);
  for (Element& element : matrix) set(element, normal(generator));
  multiply(RowsPlan::from_text(plan.text()), left.data(), matrix.data(), result.data());
  double worst = 0;
  for (int64_t m = 0; m < plan.rows; ++m)
    for (int64_t j = 0; j < plan.columns; ++j) {
      double sum = 0, squares = 1e-30;
      for (int64_t k = 0; k < plan.depth; ++k) {
        const double product =
            left[m * plan.depth + k] * value_of(matrix[plan.by_column ? j * plan.depth + k : k * plan.columns + j]);
        sum += product;
        squares += product * product;
      }
      const double error = std::fabs(sum - result[m * plan.columns + j]) / std::sqrt(squares);
      worst = std::isnan(error) ? 1e300 : std::max(worst, error);
    }
  return worst;
}

struct Set {
  const char* name;
  bool has;
  Multiply multiply;
};

std::vector<Set> sets() {
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("fma");
  return {{"sse2", true, multiply_rows_sse2},
          {"avx2", avx2, multiply_rows_avx2},
          {"avx512", avx2 && __builtin_cpu_supports("avx512f"), multiply_rows_avx512},
          {"of this CPU", true, multiply_rows}};
}

}  // namespace

TEST_CASE("a few rows times a matrix of any element, stored either way, by each instruction set", "[kernels]") {
  std::mt19937 generator(1);
  constexpr double kMost = 1e-5;
  for (const Set& set : sets()) {
    if (!set.has) continue;
    for (const bool by_column : {false, true})
      for (int64_t rows = 1; rows <= kMostRows; ++rows)
        for (const auto& [depth, columns] :
             {std::pair{1, 1}, {16, 5}, {37, 70}, {8, 64}, {24, 131}, {100, 2100}, {9, 4200}, {0, 3}, {3, 0}}) {
          INFO(set.name << ": " << rows << " x " << depth << " x " << columns << (by_column ? " by column" : ""));
          RowsPlan plan{rows, depth, columns, by_column};
          CHECK(worst_of<Bf16>(set.multiply, plan, generator) < kMost);
          plan.element = RowsElement::F32;
          CHECK(worst_of<float>(set.multiply, plan, generator) < kMost);
          plan.element = RowsElement::S8;
          CHECK(worst_of<int8_t>(set.multiply, plan, generator) < kMost);
          plan.element = RowsElement::F16;
          if (set.multiply == multiply_rows_sse2 || !reads_element(plan.element)) continue;
          CHECK(worst_of<F16>(set.multiply, plan, generator) < kMost);
        }
  }
}

TEST_CASE("a few rows keep what is not a finite number", "[kernels]") {
  constexpr int64_t kColumns = 40;
  const F16 infinity{0x7C00}, none{0x7E00}, one{0x3C00};
  for (const Set& set : sets()) {
    if (!set.has || set.multiply == multiply_rows_sse2 || !reads_element(RowsElement::F16)) continue;
    for (const bool by_column : {false, true}) {
      std::vector<F16> matrix(2 * kColumns, one);
      const auto at = [&](int64_t k, int64_t j) -> F16& { return matrix[by_column ? j * 2 + k : k * kColumns + j]; };
      at(1, 3) = infinity;
      at(0, 37) = none;
      const float left[2] = {1, -2};
      std::vector<float> result(kColumns);
      set.multiply({1, 2, kColumns, by_column, RowsElement::F16}, left, matrix.data(), result.data());
      CHECK(result[0] == -1);
      CHECK(result[3] == -std::numeric_limits<float>::infinity());
      CHECK(std::isnan(result[37]));
      CHECK(result[39] == -1);
    }
  }
}

TEST_CASE("configurations of products of a few rows that are none are refused", "[kernels]") {
  for (const char* text : {"", "0 1 2 0 ", "5 1 2 0 0 ", "1 2 3 0 ", "1 2 3 0 0", "1 2 3 0 4 ", "z"})
    CHECK_THROWS_AS(RowsPlan::from_text(text), Error);
}

}  // namespace hone
