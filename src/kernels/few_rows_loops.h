// The loops of multiply_rows(), for a source of one instruction set. It defines before, in an unnamed namespace as these are:
//
//   Vector                     as many numbers of f32 as a register holds
//   kWidth                     how many
//   kSums                      how many registers may hold sums
//   zero(), load(), store(), spread(), multiply_add(a, b, c) = a * b + c, total()
//   widened(const Element*)    kWidth elements as f32
//   value(Element)             one of them
//
// It includes nothing that its source has not included before its pragmas, and uses no template of the standard library: that
// code would be compiled for the source's instruction set, and the linker might take it for other sources, too.
//
// The loops are bound by memory bandwidth. The hardware prefetcher predicts neither where the next rows of a block of columns
// begin nor the rest of short columns, so both are prefetched here. Measured with and without: see
// docs/decisions/0031-f16-dots.md.
#pragma once

#include "kernels/few_rows.h"
#include "kernels/few_rows_sets.h"

namespace hone {
namespace {

constexpr int kDeep = 8;   // rows of the matrix that are read side by side
constexpr int kLine = 64;  // bytes of a line of a cache

// Vectors of columns that are computed at once: a line of the matrix, if there are registers for their sums.
template <int rows, class Element>
constexpr int vectors_of_line() {
  constexpr int line = kLine / static_cast<int>(sizeof(Element)) / kWidth, most = kSums / rows;
  return line < most ? line : most;
}

// Adds `deep` rows of the matrix, times an element each, to `vectors` vectors of columns of every row of the result.
template <int rows, int deep, int vectors, class Element>
inline void add_tile(const RowsPlan& plan, const float* left, const Element* matrix, float* result) {
  Vector sums[rows][vectors];
  for (int m = 0; m < rows; ++m)
    for (int v = 0; v < vectors; ++v) sums[m][v] = load(result + m * plan.columns + v * kWidth);
#pragma GCC unroll 8
  for (int k = 0; k < deep; ++k)
#pragma GCC unroll 16
    for (int v = 0; v < vectors; ++v) {
      const Vector elements = widened(matrix + k * plan.columns + v * kWidth);
#pragma GCC unroll 4
      for (int m = 0; m < rows; ++m) sums[m][v] = multiply_add(elements, spread(left[m * plan.depth + k]), sums[m][v]);
    }
  for (int m = 0; m < rows; ++m)
    for (int v = 0; v < vectors; ++v) store(result + m * plan.columns + v * kWidth, sums[m][v]);
}

// The same for `count` columns; `ahead`: elements to what is read after all of these.
template <int rows, int deep, class Element>
inline void add_rows(const RowsPlan& plan, const float* left, const Element* matrix, float* result, int64_t count,
                     int64_t ahead) {
  constexpr int kVectors = vectors_of_line<rows, Element>(), kTile = kVectors * kWidth;
  int64_t j = 0;
  for (; j + kTile <= count; j += kTile) {
    for (int k = 0; k < deep; ++k) __builtin_prefetch(matrix + k * plan.columns + j + ahead, 0, /*second level*/ 2);
    add_tile<rows, deep, kVectors>(plan, left, matrix + j, result + j);
  }
  for (; j + kWidth <= count; j += kWidth) add_tile<rows, deep, 1>(plan, left, matrix + j, result + j);
  for (; j < count; ++j)
    for (int m = 0; m < rows; ++m)
      for (int k = 0; k < deep; ++k)
        result[m * plan.columns + j] += left[m * plan.depth + k] * value(matrix[k * plan.columns + j]);
}

template <int rows, class Element>
void by_depth(const RowsPlan& plan, const float* left, const Element* matrix, float* result) {
  constexpr int64_t kColumns = sizeof(Element) == 1 ? 4096 : 2048;  // of which the sums stay in a cache
  for (int64_t i = 0; i < rows * plan.columns; ++i) result[i] = 0;
  for (int64_t j = 0; j < plan.columns; j += kColumns) {
    const int64_t count = plan.columns - j < kColumns ? plan.columns - j : kColumns;
    int64_t k = 0;
    for (; k + kDeep <= plan.depth; k += kDeep)
      add_rows<rows, kDeep>(plan, left + k, matrix + k * plan.columns + j, result + j, count,
                            k + 2 * kDeep <= plan.depth ? kDeep * plan.columns : 0);
    for (; k < plan.depth; ++k) add_rows<rows, 1>(plan, left + k, matrix + k * plan.columns + j, result + j, count, 0);
  }
}

// `side` columns, `vectors` vectors of each at once.
template <int rows, int side, int vectors, class Element>
inline void multiply_columns(const RowsPlan& plan, const float* left, const Element* matrix, float* result) {
  constexpr int kAhead = sizeof(Element) == sizeof(float) ? 4096 : 8192;  // bytes, also into the columns that follow
  Vector sums[rows][side][vectors];
  for (int m = 0; m < rows; ++m)
    for (int c = 0; c < side; ++c)
      for (int v = 0; v < vectors; ++v) sums[m][c][v] = zero();
  int64_t k = 0;
  for (; k + vectors * kWidth <= plan.depth; k += vectors * kWidth)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
#pragma GCC unroll 4
      for (int c = 0; c < side; ++c) {
        const Element* column = matrix + c * plan.depth + k + v * kWidth;
        if (v * kWidth * sizeof(Element) % kLine == 0)
          __builtin_prefetch(reinterpret_cast<const char*>(column) + kAhead, 0, /*second level*/ 2);
        const Vector elements = widened(column);
#pragma GCC unroll 4
        for (int m = 0; m < rows; ++m)
          sums[m][c][v] = multiply_add(elements, load(left + m * plan.depth + k + v * kWidth), sums[m][c][v]);
      }
  for (; k + kWidth <= plan.depth; k += kWidth)
    for (int c = 0; c < side; ++c)
      for (int m = 0; m < rows; ++m)
        sums[m][c][0] =
            multiply_add(widened(matrix + c * plan.depth + k), load(left + m * plan.depth + k), sums[m][c][0]);
  for (int m = 0; m < rows; ++m)
    for (int c = 0; c < side; ++c) {
      float sum = 0;
      for (int64_t rest = k; rest < plan.depth; ++rest)
        sum += left[m * plan.depth + rest] * value(matrix[c * plan.depth + rest]);
      for (int v = 0; v < vectors; ++v) sum += total(sums[m][c][v]);
      result[m * plan.columns + c] = sum;
    }
}

template <int rows, class Element>
void by_column(const RowsPlan& plan, const float* left, const Element* matrix, float* result) {
  constexpr int kMost = kSums / rows, kSide = rows == 1 ? 1 : kMost < 4 ? kMost : 4, kVectors = rows == 1 ? 4 : 1;
  int64_t j = 0;
  for (; j + kSide <= plan.columns; j += kSide)
    multiply_columns<rows, kSide, kVectors>(plan, left, matrix + j * plan.depth, result + j);
  for (; j < plan.columns; ++j) multiply_columns<rows, 1, kVectors>(plan, left, matrix + j * plan.depth, result + j);
}

template <class Element>
void multiply_elements(const RowsPlan& plan, const float* left, const void* matrix, float* result) {
  const auto* elements = static_cast<const Element*>(matrix);
  switch (plan.rows) {
    case 1:
      return plan.by_column ? by_column<1>(plan, left, elements, result) : by_depth<1>(plan, left, elements, result);
    case 2:
      return plan.by_column ? by_column<2>(plan, left, elements, result) : by_depth<2>(plan, left, elements, result);
    case 3:
      return plan.by_column ? by_column<3>(plan, left, elements, result) : by_depth<3>(plan, left, elements, result);
    default:
      static_assert(kMostRows == 4);
      return plan.by_column ? by_column<4>(plan, left, elements, result) : by_depth<4>(plan, left, elements, result);
  }
}

// Of bf16, f32 and s8.
void multiply_all_but_f16(const RowsPlan& plan, const float* left, const void* matrix, float* result) {
  switch (plan.element) {
    case RowsElement::F32:
      return multiply_elements<float>(plan, left, matrix, result);
    case RowsElement::S8:
      return multiply_elements<int8_t>(plan, left, matrix, result);
    default:
      return multiply_elements<Bf16>(plan, left, matrix, result);
  }
}

}  // namespace
}  // namespace hone
