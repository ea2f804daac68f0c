#include "kernels/few_rows.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "kernels/plan_text.h"

// One version of a function for each width of vectors, chosen when the library is loaded.
#define HONE_VECTOR_WIDTHS __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))

namespace hone {
namespace {

constexpr int kDeep = 16;           // rows of the matrix that are read side by side
constexpr int64_t kColumns = 2048;  // of which the sums stay in the first-level cache
constexpr int kLanes = 16;

[[gnu::always_inline]] inline float widened(float value) { return value; }

[[gnu::always_inline]] inline float widened(uint16_t half) {
  const uint32_t bits = uint32_t{half} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Adds `deep` rows of the matrix, times an element each, to `count` columns of every row of the result.
template <int rows, int deep, class Element>
[[gnu::always_inline]] inline void add_deep(const RowsPlan& plan, const float* __restrict left,
                                            const Element* __restrict matrix, float* __restrict result, int64_t count) {
  for (int64_t j = 0; j < count; ++j)
#pragma GCC unroll 8
    for (int m = 0; m < rows; ++m) {
      float sum = result[m * plan.columns + j];
#pragma GCC unroll 16
      for (int k = 0; k < deep; ++k) sum += left[m * plan.depth + k] * widened(matrix[k * plan.columns + j]);
      result[m * plan.columns + j] = sum;
    }
}

template <int rows, class Element>
[[gnu::always_inline]] inline void by_depth(const RowsPlan& plan, const float* left, const Element* matrix,
                                            float* result) {
  std::fill_n(result, rows * plan.columns, 0.0f);
  for (int64_t j = 0; j < plan.columns; j += kColumns) {
    const int64_t count = std::min(kColumns, plan.columns - j);
    int64_t k = 0;
    for (; k + kDeep <= plan.depth; k += kDeep)
      add_deep<rows, kDeep>(plan, left + k, matrix + k * plan.columns + j, result + j, count);
    for (; k < plan.depth; ++k) add_deep<rows, 1>(plan, left + k, matrix + k * plan.columns + j, result + j, count);
  }
}

template <int rows, class Element>
[[gnu::always_inline]] inline void by_column(const RowsPlan& plan, const float* __restrict left,
                                             const Element* __restrict matrix, float* __restrict result) {
  for (int64_t j = 0; j < plan.columns; ++j) {
    const Element* column = matrix + j * plan.depth;
    float sums[rows][kLanes] = {};
    int64_t k = 0;
    for (; k + kLanes <= plan.depth; k += kLanes)
      for (int m = 0; m < rows; ++m)
        for (int l = 0; l < kLanes; ++l) sums[m][l] += left[m * plan.depth + k + l] * widened(column[k + l]);
    for (int m = 0; m < rows; ++m) {
      float sum = 0;
      for (int64_t rest = k; rest < plan.depth; ++rest) sum += left[m * plan.depth + rest] * widened(column[rest]);
      for (const float lane : sums[m]) sum += lane;
      result[m * plan.columns + j] = sum;
    }
  }
}

template <int rows, class Element>
[[gnu::always_inline]] inline void multiply(const RowsPlan& plan, const float* left, const void* matrix, float* out) {
  const auto* elements = static_cast<const Element*>(matrix);
  plan.by_column ? by_column<rows>(plan, left, elements, out) : by_depth<rows>(plan, left, elements, out);
}

#define ROWS(n)                                                                                                   \
  HONE_VECTOR_WIDTHS void multiply_##n(const RowsPlan& plan, const float* left, const void* matrix, float* out) { \
    plan.wide ? multiply<n, float>(plan, left, matrix, out) : multiply<n, uint16_t>(plan, left, matrix, out);     \
  }
ROWS(1)
ROWS(2)
ROWS(3)
ROWS(4)
#undef ROWS

}  // namespace

std::string RowsPlan::text() const { return plan_text({rows, depth, columns, int64_t{by_column}, int64_t{wide}}); }

RowsPlan RowsPlan::from_text(std::string_view text) {
  const std::vector<int64_t> numbers = plan_numbers(text);
  if (numbers.size() != 5 || numbers[0] < 1 || numbers[0] > kMostRows)
    throw Error("not the configuration of a product of a few rows", std::string(text));
  return {numbers[0], numbers[1], numbers[2], numbers[3] != 0, numbers[4] != 0};
}

void multiply_rows(const RowsPlan& plan, const float* rows, const void* matrix, float* result) {
  constexpr decltype(&multiply_1) kFunctions[] = {multiply_1, multiply_2, multiply_3, multiply_4};
  static_assert(std::size(kFunctions) == kMostRows);
  kFunctions[plan.rows - 1](plan, rows, matrix, result);
}

}  // namespace hone
