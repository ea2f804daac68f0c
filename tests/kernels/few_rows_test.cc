#include "kernels/few_rows.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/error.h"

namespace hone {
namespace {

double value_of(uint16_t half) {
  const uint32_t bits = uint32_t{half} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace

TEST_CASE("a few rows times a matrix of bf16, stored either way", "[kernels]") {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  for (const bool by_column : {false, true})
    for (int64_t rows = 1; rows <= kMostRows; ++rows)
      for (const auto& [depth, columns] : {std::pair{1, 1}, {16, 5}, {37, 70}, {100, 2100}}) {
        INFO(rows << " x " << depth << " x " << columns << (by_column ? " by column" : ""));
        std::vector<float> left(rows * depth), result(rows * columns);
        std::vector<uint16_t> matrix(depth * columns);
        for (float& value : left) value = normal(generator);
        for (uint16_t& value : matrix) {
          const float drawn = normal(generator);
          uint32_t bits;
          std::memcpy(&bits, &drawn, sizeof bits);
          value = static_cast<uint16_t>(bits >> 16);
        }
        const RowsPlan plan{rows, depth, columns, by_column};
        multiply_rows(RowsPlan::from_text(plan.text()), left.data(), matrix.data(), result.data());
        double worst = 0;
        for (int64_t m = 0; m < rows; ++m)
          for (int64_t j = 0; j < columns; ++j) {
            double sum = 0;
            for (int64_t k = 0; k < depth; ++k)
              sum += left[m * depth + k] * value_of(matrix[by_column ? j * depth + k : k * columns + j]);
            worst = std::max(worst, std::fabs(sum - result[m * columns + j]));
          }
        CHECK(worst < 1e-5 * std::sqrt(depth));
      }
}

TEST_CASE("configurations of products of a few rows that are none are refused", "[kernels]") {
  for (const char* text : {"", "0 1 2 0 ", "5 1 2 0 ", "1 2 3 ", "1 2 3 0", "z"})
    CHECK_THROWS_AS(RowsPlan::from_text(text), Error);
}

}  // namespace hone
