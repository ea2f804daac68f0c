#include "kernels/winograd.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "base/error.h"
#include "in_threads.h"
#include "kernels/instruction_sets.h"
#include "kernels/winograd_points.h"
#include "kernels/winograd_tiles.h"

namespace hone {
namespace {

using Numbers = std::vector<float>;

// G of F(tile, window), as in xla/decisions/winograd_matrices.cc, by its definition.
std::vector<std::vector<double>> weights_matrix(const WinogradPlanAxis& axis) {
  if (axis.reach == 1) return {{1}};
  const int64_t window = axis.reach - axis.tile + 1;
  std::vector<std::vector<double>> g(axis.reach, std::vector<double>(window, 0));
  for (int64_t j = 0; j + 1 < axis.reach; ++j) {
    double scale = 1;
    for (int64_t l = 0; l + 1 < axis.reach; ++l)
      if (l != j) scale *= kWinogradPoints[axis.reach][j] - kWinogradPoints[axis.reach][l];
    for (int64_t k = 0; k < window; ++k) g[j][k] = std::pow(kWinogradPoints[axis.reach][j], k) / scale;
  }
  g[axis.reach - 1][window - 1] = 1;
  return g;
}

struct Example {
  WinogradPlan plan;
  Numbers input, kernel, weights;  // kernel: [rows, columns, features, results]

  int64_t window(const WinogradPlanAxis& axis) const { return axis.reach - axis.tile + 1; }
  float& kernel_at(int64_t k, int64_t l, int64_t f, int64_t r) {
    return kernel[((k * window(plan.columns) + l) * plan.features + f) * plan.results + r];
  }

  explicit Example(const WinogradPlan& of) : plan(of), input(of.input_size()), weights(of.weights_size()) {
    std::mt19937 generator(7);
    std::normal_distribution<float> normal;
    kernel.resize(window(plan.rows) * window(plan.columns) * plan.features * plan.results);
    for (Numbers* numbers : {&input, &kernel})
      for (float& number : *numbers) number = normal(generator);
    const auto rows = weights_matrix(plan.rows), columns = weights_matrix(plan.columns);
    for (int64_t j = 0; j < plan.columns.reach; ++j)
      for (int64_t i = 0; i < plan.rows.reach; ++i)
        for (int64_t f = 0; f < plan.features; ++f)
          for (int64_t r = 0; r < plan.results; ++r) {
            double sum = 0;
            for (int64_t k = 0; k < window(plan.rows); ++k)
              for (int64_t l = 0; l < window(plan.columns); ++l)
                sum += rows[i][k] * columns[j][l] * kernel_at(k, l, f, r);
            const int64_t panel = r / kWinogradPanel, place = r % kWinogradPanel;
            weights[(((j * plan.rows.reach + i) * plan.panels() + panel) * plan.features + f) * kWinogradPanel +
                    place] = static_cast<float>(sum);
          }
  }

  double exact(int64_t image, int64_t row, int64_t column, int64_t result) {
    double sum = 0;
    for (int64_t k = 0; k < window(plan.rows); ++k)
      for (int64_t l = 0; l < window(plan.columns); ++l) {
        const int64_t y = row + k - plan.rows.low, x = column + l - plan.columns.low;
        if (y < 0 || y >= plan.rows.in || x < 0 || x >= plan.columns.in) continue;
        const float* from = &input[((image * plan.rows.in + y) * plan.columns.in + x) * plan.features];
        for (int64_t f = 0; f < plan.features; ++f) sum += double{from[f]} * kernel_at(k, l, f, result);
      }
    return sum;
  }

  // The largest difference from sums in f64, in multiples of the root of their number.
  double worst(const Numbers& output) {
    double worst = 0;
    size_t at = 0;
    for (int64_t n = 0; n < plan.batch; ++n)
      for (int64_t y = 0; y < plan.rows.out; ++y)
        for (int64_t x = 0; x < plan.columns.out; ++x)
          for (int64_t r = 0; r < plan.results; ++r)
            worst = std::max(worst, std::fabs(output[at++] - exact(n, y, x, r)));
    return worst / std::sqrt(window(plan.rows) * window(plan.columns) * plan.features);
  }
};

WinogradPlanAxis axis(int64_t in, int64_t tile, int64_t window, int64_t low, int64_t high) {
  return {.in = in, .out = in + low + high - window + 1, .low = low, .tile = tile, .reach = tile + window - 1};
}

std::vector<WinogradPlan> plans() {
  const WinogradPlanAxis one;
  return {
      {1, 16, 16, axis(12, 4, 3, 1, 1), axis(8, 4, 3, 1, 1)},
      {2, 8, 24, axis(7, 4, 3, 1, 1), axis(9, 4, 3, 1, 1)},    // part of a vector, odd panels, edges
      {1, 19, 33, axis(13, 2, 3, 0, 0), axis(5, 2, 3, 2, 0)},  // no zeros, zeros on one side
      {1, 40, 5, axis(11, 4, 3, 1, 1), axis(17, 4, 3, 1, 1)},
      {3, 17, 50, axis(9, 2, 5, 2, 2), axis(10, 2, 5, 2, 2)},
      {2, 24, 40, one, axis(50, 4, 3, 1, 1)},                   // one dimension
      {1, 64, 64, axis(56, 4, 3, 1, 1), axis(56, 4, 3, 1, 1)},  // several blocks
      {1, 1, 1, axis(1, 4, 3, 1, 1), axis(1, 4, 3, 1, 1)},
  };
}

}  // namespace

TEST_CASE("convolutions by Winograd's method are as exact as f32 allows, by vectors of every width", "[kernels]") {
  for (const WinogradPlan& plan : plans()) {
    Example example(plan);
    INFO(plan.text());
    const double most = 1.5e-5;
    Numbers output(plan.output_size(), NAN);
    winograd_convolution(plan, example.input.data(), example.weights.data(), output.data(), 1, {});
    CHECK(example.worst(output) < most);
    for (const WinogradKernel* kernel : {&kWinogradAvx512, &kWinogradAvx2, &kWinogradPortable}) {
      if (kernel == &kWinogradAvx512 && !has_avx512_kernels()) continue;
      if (kernel == &kWinogradAvx2 && !has_avx2_kernels()) continue;
      const int64_t tiles = plan.batch * plan.rows.tiles() * plan.columns.tiles();
      Numbers scratch(tiles * plan.rows.reach * plan.columns.reach * (plan.features + 16 * plan.panels()) + 64);
      Numbers found(plan.output_size(), NAN);
      WinogradTiles all{&plan, example.input.data(), example.weights.data(), found.data(), 0, tiles, scratch.data()};
      kernel->compute(all);
      CHECK(example.worst(found) < most);
    }
  }
}

TEST_CASE("threads of a convolution by Winograd's method write what one does", "[kernels]") {
  for (const WinogradPlan& plan : plans()) {
    const Example example(plan);
    Numbers one(plan.output_size(), NAN), four(plan.output_size(), NAN);
    winograd_convolution(plan, example.input.data(), example.weights.data(), one.data(), 1, {});
    winograd_convolution(plan, example.input.data(), example.weights.data(), four.data(), 4, in_threads);
    CHECK(one == four);
  }
}

TEST_CASE("configurations of Winograd's method are read as they were written, and no others", "[kernels]") {
  for (const WinogradPlan& plan : plans()) CHECK(WinogradPlan::from_text(plan.text()) == plan);
  for (const char* text :
       {"", "1 ", "1 16 16 12 12 1 4 6 8 8 1 4 6", "1 16 16 12 12 1 4 6 8 8 1 4 6 1 ",
        "1 16 16 12 12 1 4 6 8 8 1 4 -6 ", "0 16 16 12 12 1 4 6 8 8 1 4 6 ", "1 16 16 12 12 1 4 5 8 8 1 4 5 ",
        "1 16 16 12 12 1 4 6 8 8 1 2 4 ", "1 16 16 12 0 1 4 6 8 8 1 4 6 ",
        "16777216 16777216 16 12 12 1 4 6 8 8 1 4 6 ", "1 9223372036854775807 16 12 12 1 4 6 8 8 1 4 6 "})
    CHECK_THROWS_AS(WinogradPlan::from_text(text), Error);
}

}  // namespace hone
