// Vectors, products and panels for attention_loops.h, recurrence_loops.h and winograd_loops.h, which alone include it.
#pragma once

#include <cstdint>

#define HONE_INLINE [[gnu::always_inline]] inline

namespace hone {
namespace {

constexpr int64_t kLanes = HONE_LANES;
constexpr int kRows = HONE_ROWS;  // that a product computes at once

using Vector = float __attribute__((vector_size(4 * HONE_LANES)));
using Integers = int32_t __attribute__((vector_size(4 * HONE_LANES)));
using AnyVector = float __attribute__((vector_size(4 * HONE_LANES), aligned(4), may_alias));
using AnyBytes = uint8_t __attribute__((vector_size(HONE_LANES), aligned(1), may_alias));
using Four = float __attribute__((vector_size(16)));
using AnyFour = float __attribute__((vector_size(16), aligned(4), may_alias));
using FourIndices = int32_t __attribute__((vector_size(16)));

constexpr int64_t kPanel = 2 * kLanes;  // columns that a product computes at once

HONE_INLINE Vector load(const float* from) { return *reinterpret_cast<const AnyVector*>(from); }
HONE_INLINE void store(float* to, Vector value) { *reinterpret_cast<AnyVector*>(to) = value; }
HONE_INLINE Vector splat(float value) { return value - Vector{}; }
HONE_INLINE int64_t padded(int64_t size, int64_t to) { return (size + to - 1) / to * to; }
HONE_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
HONE_INLINE Vector greater(Vector a, Vector b) { return a > b ? a : b; }

// expf of Cephes for numbers of at most 0, but 0 where the result has no normal number.
HONE_INLINE Vector exponential(Vector x) {
  const Vector shift = splat(12582912.0f);  // 1.5 * 2^23, whose last bits are whole numbers
  const Vector power = x * 1.44269504088896341f + shift;
  const Vector whole = power - shift;
  const Vector r = x - whole * 0.693359375f - whole * -2.12194440e-4f;
  Vector p = splat(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + (r + 1.0f);
  const Vector result = p * reinterpret_cast<Vector>((reinterpret_cast<Integers>(power) + 127) << 23);
  return x < -87.33654f ? Vector{} : result;  // what is not a number stays so
}

// c = a b, or c = factors c + a b where there are factors of the rows. b: [depth, vectors * kLanes].
template <int rows, int vectors>
HONE_INLINE void multiply(const float* a, int64_t a_row, const float* b, int64_t depth, float* c, int64_t c_row,
                          const float* factors) {
  Vector sums[rows][vectors];
#pragma GCC unroll 16
  for (int m = 0; m < rows; ++m)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) sums[m][v] = factors ? load(c + m * c_row + v * kLanes) * factors[m] : Vector{};
  for (int64_t k = 0; k < depth; ++k) {
    Vector right[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) right[v] = load(b + (k * vectors + v) * kLanes);
#pragma GCC unroll 16
    for (int m = 0; m < rows; ++m) {
      const Vector left = splat(a[m * a_row + k]);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) sums[m][v] += left * right[v];
    }
  }
#pragma GCC unroll 16
  for (int m = 0; m < rows; ++m)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) store(c + m * c_row + v * kLanes, sums[m][v]);
}

struct Product {
  const float* a;
  int64_t a_row;
  const float* b;
  int64_t depth;
  float* c;
  int64_t c_row;
  const float* factors;
};

template <int rows, int vectors>
[[gnu::noinline]] void product(const Product& p) {
  multiply<rows, vectors>(p.a, p.a_row, p.b, p.depth, p.c, p.c_row, p.factors);
}

template <int vectors, int rows = kRows>
HONE_INLINE void product_of(int count, const Product& p) {
  if constexpr (rows > 1)
    if (count < rows) return product_of<vectors, rows - 1>(count, p);
  product<rows, vectors>(p);
}

// c = a b over all columns of b, which lie in panels of `b_panel` numbers, the last of one vector where that is enough.
[[maybe_unused]] void product_of_panels(int rows, Product p, int64_t columns, int64_t b_panel) {
  for (int64_t j = 0; j < columns; j += kPanel) {
    if (columns - j > kLanes)
      product_of<2>(rows, p);
    else
      product_of<1>(rows, p);
    p.b += b_panel;
    p.c += kPanel;
  }
}

// Transposes a 4 x 4 block.
HONE_INLINE void transpose_four(const float* from, int64_t row, float* to, int64_t to_row) {
  const Four a = *reinterpret_cast<const AnyFour*>(from), b = *reinterpret_cast<const AnyFour*>(from + row),
             c = *reinterpret_cast<const AnyFour*>(from + 2 * row),
             d = *reinterpret_cast<const AnyFour*>(from + 3 * row);
  const Four ab = __builtin_shuffle(a, b, FourIndices{0, 4, 1, 5}),
             cd = __builtin_shuffle(c, d, FourIndices{0, 4, 1, 5}),
             ab2 = __builtin_shuffle(a, b, FourIndices{2, 6, 3, 7}),
             cd2 = __builtin_shuffle(c, d, FourIndices{2, 6, 3, 7});
  *reinterpret_cast<AnyFour*>(to) = __builtin_shuffle(ab, cd, FourIndices{0, 1, 4, 5});
  *reinterpret_cast<AnyFour*>(to + to_row) = __builtin_shuffle(ab, cd, FourIndices{2, 3, 6, 7});
  *reinterpret_cast<AnyFour*>(to + 2 * to_row) = __builtin_shuffle(ab2, cd2, FourIndices{0, 1, 4, 5});
  *reinterpret_cast<AnyFour*>(to + 3 * to_row) = __builtin_shuffle(ab2, cd2, FourIndices{2, 3, 6, 7});
}

// Packs an array [depth, columns] with these strides into panels [depth, kPanel]. The last panel is [depth, kLanes] where that is
// enough. Missing columns are 0.
[[maybe_unused]] void pack(const float* from, int64_t depth_stride, int64_t column_stride, int64_t depth,
                           int64_t columns, float* to) {
  for (int64_t j = 0; j < columns; j += kPanel, to += kPanel * depth) {
    const int64_t width = columns - j > kLanes ? kPanel : kLanes, filled = least(columns - j, width);
    const float* panel = from + j * column_stride;
    if (column_stride == 1 && filled == width) {
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t c = 0; c < width; c += kLanes) store(to + k * width + c, load(panel + k * depth_stride + c));
      continue;
    }
    int64_t turned = 0, turned_depth = 0;
    if (depth_stride == 1 && column_stride != 1) {
      turned = filled / 4 * 4, turned_depth = depth / 4 * 4;
      for (int64_t c = 0; c < turned; c += 4)
        for (int64_t k = 0; k < turned_depth; k += 4)
          transpose_four(panel + c * column_stride + k, column_stride, to + k * width + c, width);
    }
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t c = k < turned_depth ? turned : 0; c < filled; ++c)
        to[k * width + c] = panel[k * depth_stride + c * column_stride];
      for (int64_t c = filled; c < width; ++c) to[k * width + c] = 0;
    }
  }
}

}  // namespace
}  // namespace hone
