#include "base/dense.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.h"
#include "base/rng.h"
#include "tests/with_lanes.h"

using namespace hone;

namespace {

std::vector<float> random_values(int64_t count, Rng& rng) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(2 * rng.uniform() - 1));
  return values;
}

// By the definition, in double precision.
double product_of(const std::vector<float>& x, const std::vector<float>& weights, int64_t inputs, int64_t row,
                  int64_t column) {
  double sum = 0;
  for (int64_t i = 0; i < inputs; ++i) sum += double{x[row * inputs + i]} * weights[column * inputs + i];
  return sum;
}

}  // namespace

TEST_CASE("dense layers of any width and number of rows") {
  const WithLanes versions(GENERATE(4, 8, 16));
  Rng rng(1);
  for (const int64_t rows : {1, 2, 7, 8, 19, 1500})
    for (const auto& [inputs, outputs] :
         std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {5, 16}, {29, 48}, {48, 17}}) {
      INFO(rows << " x " << inputs << " x " << outputs);
      const std::vector<float> given = random_values(rows * inputs, rng),
                               weights = random_values(outputs * inputs, rng), bias = random_values(outputs, rng);
      const dense::Matrix x = dense::matrix_of(given, rows, inputs);
      const dense::Linear layer(weights, bias, outputs, inputs);
      const dense::Matrix y = dense::linear(layer, x, 1), positive = dense::linear(layer, x, 1, dense::After::Relu);
      dense::Matrix added = y;
      dense::add_linear(layer, x, 1, added);
      double most = 0;
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < outputs; ++c) {
          const double expected = product_of(given, weights, inputs, r, c) + bias[c];
          most = std::max({most, std::abs(y.row(r)[c] - expected), std::abs(added.row(r)[c] - 2 * expected),
                           std::abs(positive.row(r)[c] - std::max(expected, 0.0))});
        }
      CHECK(most < 1e-5);
      CHECK((dense::linear(layer, x, 3).values == y.values));
    }
}

TEST_CASE("dense layers refuse a matrix of another width") {
  const dense::Linear layer(std::vector<float>(6), std::vector<float>(2), 2, 3);
  CHECK_THROWS_AS(dense::linear(layer, dense::Matrix(4, 2), 1), InternalError);
  CHECK_THROWS_AS(dense::matrix_of(std::vector<float>(5), 2, 3), InternalError);
}

TEST_CASE("exponentials are those of a softmax") {
  const WithLanes versions(GENERATE(4, 8, 16));
  Rng rng(2);
  for (const int64_t columns : {1, 16, 19, 256}) {
    dense::Matrix x = dense::matrix_of(random_values(3 * columns, rng), 3, columns);
    for (float& value : x.values) value *= 60;  // some underflow
    const dense::Matrix before = x;
    std::vector<float> inverse(3);
    dense::exponentials(x.row(0), 3, columns, 0.5f, inverse.data());
    for (int64_t r = 0; r < 3; ++r) {
      const float most = *std::max_element(before.row(r), before.row(r) + columns);
      double sum = 0, off = 0;
      for (int64_t c = 0; c < columns; ++c) sum += std::exp(0.5 * (before.row(r)[c] - most));
      for (int64_t c = 0; c < columns; ++c)
        off = std::max(off, std::abs(x.row(r)[c] * inverse[r] - std::exp(0.5 * (before.row(r)[c] - most)) / sum));
      CHECK(off < 1e-6);
      for (int64_t c = columns; c < x.stride; ++c) CHECK(x.row(r)[c] == 0);
    }
  }
}

TEST_CASE("layer normalisation, means and maxima of neighbours") {
  const WithLanes versions(GENERATE(4, 8, 16));
  Rng rng(3);
  for (const int64_t columns : {3, 16, 50}) {
    const std::vector<float> given = random_values(4 * columns, rng), weight = random_values(columns, rng),
                             bias = random_values(columns, rng);
    const dense::Matrix x = dense::matrix_of(given, 4, columns);
    const dense::Matrix y = dense::layer_norm({weight, bias}, x, 1);
    for (int64_t r = 0; r < 4; ++r) {
      double mean = 0, square = 0, off = 0;
      for (int64_t c = 0; c < columns; ++c) mean += x.row(r)[c] / static_cast<double>(columns);
      for (int64_t c = 0; c < columns; ++c) square += std::pow(x.row(r)[c] - mean, 2) / static_cast<double>(columns);
      for (int64_t c = 0; c < columns; ++c)
        off = std::max(off,
                       std::abs(y.row(r)[c] - ((x.row(r)[c] - mean) / std::sqrt(square + 1e-5) * weight[c] + bias[c])));
      CHECK(off < 1e-5);
    }
    CHECK(dense::mean_of_rows(x)[2] ==
          Approx((given[2] + given[columns + 2] + given[2 * columns + 2] + given[3 * columns + 2]) / 4));
    CHECK((dense::values_of(x) == given));
  }
  const dense::Matrix x = dense::matrix_of(std::vector<float>{1, 5, 2, 3, 7, -1}, 3, 2);
  std::vector<float> most(6, 9);
  dense::max_of_neighbours(x, {0, 2}, std::vector<int32_t>{0, 2, 2, 3}, std::vector<int32_t>{1, 2, 0}, most.data(), 2);
  CHECK((most == std::vector<float>{7, 3, 0, 0, 1, 5}));
}
