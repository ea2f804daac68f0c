// Transforms and products of Winograd's method; HONE_LANES, HONE_ROWS and HONE_KERNEL say how wide, how many and for whom.
#include <array>
#include <cstring>

#include "kernels/attention_products.h"
#include "kernels/winograd_points.h"
#include "kernels/winograd_tiles.h"

namespace hone {
namespace {

template <int rows, int columns>
using Constants = std::array<std::array<float, columns>, rows>;

// Coefficients, lowest power first, of the product of (x - point) over all finite points but number `skipped`.
template <int reach>
constexpr std::array<double, reach> product_of_points(int skipped) {
  std::array<double, reach> coefficients = {1};
  for (int l = 0; l < reach - 1; ++l) {
    if (l == skipped) continue;
    for (int i = reach - 1; i > 0; --i)
      coefficients[i] = coefficients[i - 1] - kWinogradPoints[reach][l] * coefficients[i];
    coefficients[0] *= -kWinogradPoints[reach][l];
  }
  return coefficients;
}

// B transposed and A transposed of F(tile, reach - tile + 1).
template <int reach>
constexpr Constants<reach, reach> input_matrix() {
  Constants<reach, reach> matrix = {};
  for (int j = 0; j < reach; ++j) {
    const std::array<double, reach> row = product_of_points<reach>(j < reach - 1 ? j : -1);
    for (int k = 0; k < reach; ++k) matrix[j][k] = static_cast<float>(row[k]);
  }
  return matrix;
}

template <int tile, int reach>
constexpr Constants<tile, reach> output_matrix() {
  Constants<tile, reach> matrix = {};
  for (int j = 0; j < reach - 1; ++j) {
    double power = 1;
    for (int i = 0; i < tile; ++i, power *= kWinogradPoints[reach][j]) matrix[i][j] = static_cast<float>(power);
  }
  matrix[tile - 1][reach - 1] = 1;
  return matrix;
}

// Points come as 0, then pairs of p and -p: the even and the odd powers of a pair are summed once for both.
template <int reach>
HONE_INLINE void transform_input(const Vector* in, Vector* out) {
  if constexpr (reach == 1) {
    out[0] = in[0];
  } else {
    static constexpr auto kMatrix = input_matrix<reach>();
    const auto sum = [&](int row, int first) __attribute__((always_inline)) {
      Vector total = {};
#pragma GCC unroll 8
      for (int k = first; k < reach; k += 2)
        if (kMatrix[row][k] != 0) total += kMatrix[row][k] * in[k];
      return total;
    };
    out[0] = sum(0, 0);
    out[reach - 1] = sum(reach - 1, 1);
#pragma GCC unroll 8
    for (int pair = 1; pair < reach - 1; pair += 2) {
      const Vector even = sum(pair, 0), odd = sum(pair, 1);
      out[pair] = even + odd;
      out[pair + 1] = even - odd;
    }
  }
}

template <int tile, int reach>
HONE_INLINE void transform_output(const Vector* in, Vector* out) {
  if constexpr (reach == 1) {
    out[0] = in[0];
  } else {
    static constexpr auto kMatrix = output_matrix<tile, reach>();
    constexpr int kPairs = reach / 2 - 1;
    Vector sums[kPairs], differences[kPairs];
#pragma GCC unroll 8
    for (int p = 0; p < kPairs; ++p) {
      sums[p] = in[2 * p + 1] + in[2 * p + 2];
      differences[p] = in[2 * p + 1] - in[2 * p + 2];
    }
#pragma GCC unroll 8
    for (int i = 0; i < tile; ++i) {
      Vector total = i == 0 ? in[0] : i == tile - 1 ? in[reach - 1] : Vector{};
#pragma GCC unroll 8
      for (int p = 0; p < kPairs; ++p) total += kMatrix[i][2 * p + 1] * (i % 2 == 0 ? sums[p] : differences[p]);
      out[i] = total;
    }
  }
}

HONE_INLINE Vector load_some(const float* from, int64_t count) {
  if (count == kLanes) return load(from);
  float numbers[kLanes] = {};
  std::memcpy(numbers, from, count * sizeof(float));
  return load(numbers);
}

HONE_INLINE void store_some(float* to, Vector value, int64_t count) {
  if (count == kLanes) return store(to, value);
  std::memcpy(to, &value, count * sizeof(float));
}

// c = a b of `rows` rows and one or two vectors of columns, the second of which lies `b_step` behind the first.
struct TileProduct {
  const float* a;  // [rows, depth]
  const float* b;  // [depth, kWinogradPanel]
  int64_t b_step, depth;
  float* c;
  int64_t c_row;
};

template <int rows, int vectors>
[[gnu::noinline]] void tile_product(const TileProduct& p) {
  Vector sums[rows][vectors] = {};
  const float *b = p.b, *second = p.b + p.b_step;
  for (int64_t k = 0; k < p.depth; ++k, b += kWinogradPanel, second += kWinogradPanel) {
    const Vector right[2] = {load(b), vectors == 2 ? load(second) : Vector{}};
#pragma GCC unroll 16
    for (int m = 0; m < rows; ++m) {
      const Vector left = splat(p.a[m * p.depth + k]);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) sums[m][v] += left * right[v];
    }
  }
#pragma GCC unroll 16
  for (int m = 0; m < rows; ++m)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) store(p.c + m * p.c_row + v * kLanes, sums[m][v]);
}

template <int vectors, int rows = kRows>
HONE_INLINE void tile_product_of(int64_t count, const TileProduct& p) {
  if constexpr (rows > 1)
    if (count < rows) return tile_product_of<vectors, rows - 1>(count, p);
  tile_product<rows, vectors>(p);
}

struct TilePlace {
  int64_t image, row, column;
};

TilePlace place_of(const WinogradPlan& plan, int64_t tile) {
  const int64_t columns = plan.columns.tiles(), rows = plan.rows.tiles();
  return {tile / (rows * columns), tile / columns % rows, tile % columns};
}

template <int rows_reach, int columns_reach>
void read_tile(const WinogradTiles& t, const TilePlace& place, float* to, int64_t position) {
  const WinogradPlan& plan = *t.plan;
  const int64_t row = place.row * plan.rows.tile - plan.rows.low,
                column = place.column * plan.columns.tile - plan.columns.low;
  const int64_t width = least(kLanes, plan.features);
  for (int64_t next = 0; next < plan.features; next += width) {
    const int64_t feature = least(next, plan.features - width);
    Vector by_column[rows_reach][columns_reach];
#pragma GCC unroll 8
    for (int i = 0; i < rows_reach; ++i) {
      Vector line[columns_reach] = {};
      const int64_t y = row + i;
      if (y >= 0 && y < plan.rows.in) {
        const float* from = t.input + (place.image * plan.rows.in + y) * plan.columns.in * plan.features + feature;
#pragma GCC unroll 8
        for (int j = 0; j < columns_reach; ++j) {
          const int64_t x = column + j;
          if (x >= 0 && x < plan.columns.in) line[j] = load_some(from + x * plan.features, width);
        }
      }
      transform_input<columns_reach>(line, by_column[i]);
    }
#pragma GCC unroll 8
    for (int j = 0; j < columns_reach; ++j) {
      Vector line[rows_reach], both[rows_reach];
#pragma GCC unroll 8
      for (int i = 0; i < rows_reach; ++i) line[i] = by_column[i][j];
      transform_input<rows_reach>(line, both);
#pragma GCC unroll 8
      for (int i = 0; i < rows_reach; ++i) store_some(to + (j * rows_reach + i) * position + feature, both[i], width);
    }
  }
}

template <int rows_tile, int rows_reach, int columns_tile, int columns_reach>
void write_tile(const WinogradTiles& t, const TilePlace& place, const float* from, int64_t position) {
  const WinogradPlan& plan = *t.plan;
  const int64_t row = place.row * rows_tile, column = place.column * columns_tile;
  const int64_t rows = least(rows_tile, plan.rows.out - row), columns = least(columns_tile, plan.columns.out - column);
  const int64_t width = least(kLanes, plan.results);
  for (int64_t next = 0; next < plan.results; next += width) {
    const int64_t result = least(next, plan.results - width);
    Vector by_row[rows_tile][columns_reach];
#pragma GCC unroll 8
    for (int j = 0; j < columns_reach; ++j) {
      Vector line[rows_reach], out[rows_tile];
#pragma GCC unroll 8
      for (int i = 0; i < rows_reach; ++i) line[i] = load(from + (j * rows_reach + i) * position + result);
      transform_output<rows_tile, rows_reach>(line, out);
#pragma GCC unroll 8
      for (int i = 0; i < rows_tile; ++i) by_row[i][j] = out[i];
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows_tile; ++i) {
      if (i >= rows) break;
      Vector out[columns_tile];
      transform_output<columns_tile, columns_reach>(by_row[i], out);
      float* to =
          t.output + ((place.image * plan.rows.out + row + i) * plan.columns.out + column) * plan.results + result;
#pragma GCC unroll 8
      for (int j = 0; j < columns_tile; ++j)
        if (j < columns) store_some(to + j * plan.results, out[j], width);
    }
  }
}

// The products of one position: [tiles, features] times [features, results].
void multiply_position(const WinogradPlan& plan, const float* inputs, const float* weights, int64_t tiles,
                       float* products) {
  const int64_t columns = plan.panels() * kWinogradPanel;
  const auto at = [&](int64_t column) {
    return column / kWinogradPanel * kWinogradPanel * plan.features + column % kWinogradPanel;
  };
  for (int64_t column = 0; column < columns; column += kPanel)
    for (int64_t row = 0; row < tiles; row += kRows) {
      const bool two = columns - column > kLanes;
      const TileProduct product{.a = inputs + row * plan.features,
                                .b = weights + at(column),
                                .b_step = two ? at(column + kLanes) - at(column) : 0,
                                .depth = plan.features,
                                .c = products + row * columns + column,
                                .c_row = columns};
      const int64_t rows = least(kRows, tiles - row);
      two ? tile_product_of<2>(rows, product) : tile_product_of<1>(rows, product);
    }
}

template <int rows_tile, int rows_reach, int columns_tile, int columns_reach>
void compute_tiles(const WinogradTiles& t) {
  const WinogradPlan& plan = *t.plan;
  const int64_t tiles = t.to - t.from, columns = plan.panels() * kWinogradPanel;
  constexpr int kPositions = rows_reach * columns_reach;
  float *inputs = t.scratch, *products = t.scratch + padded(kPositions * tiles * plan.features, 16);
  for (int64_t n = 0; n < tiles; ++n)
    read_tile<rows_reach, columns_reach>(t, place_of(plan, t.from + n), inputs + n * plan.features,
                                         tiles * plan.features);
  for (int p = 0; p < kPositions; ++p)
    multiply_position(plan, inputs + p * tiles * plan.features, t.weights + p * plan.features * columns, tiles,
                      products + p * tiles * columns);
  for (int64_t n = 0; n < tiles; ++n)
    write_tile<rows_tile, rows_reach, columns_tile, columns_reach>(t, place_of(plan, t.from + n),
                                                                   products + n * columns, tiles * columns);
}

void compute_any(const WinogradTiles& t) {
  const WinogradPlanAxis &rows = t.plan->rows, &columns = t.plan->columns;
#define HONE_WINOGRAD(of_tile, of_reach)                               \
  if (columns.tile == of_tile && columns.reach == of_reach)            \
    return rows.reach == 1 ? compute_tiles<1, 1, of_tile, of_reach>(t) \
                           : compute_tiles<of_tile, of_reach, of_tile, of_reach>(t);
#include "kernels/winograd_sizes.def"
#undef HONE_WINOGRAD
}

}  // namespace

const WinogradKernel HONE_KERNEL = {kRows, compute_any};

}  // namespace hone
