#include "kernels/cumulative_sum.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.h"
#include "kernels/plan_text.h"

namespace hone {
namespace {

// A block of a row is cut into parts that are summed at the same time: one sum alone waits for each addition.
constexpr int kParts = 8;
constexpr int64_t kPartLength = 256;
constexpr int64_t kBlock = kParts * kPartLength;

// From here on the sums within each part, then what the parts before it add up to.
template <class T>
T block_sums(const T* values, T* sums, int64_t part, T before) {
  std::array<T, kParts> running{};
  for (int64_t i = 0; i < part; ++i)
#pragma GCC unroll 8
    for (int p = 0; p < kParts; ++p) sums[p * part + i] = running[p] += values[p * part + i];
  for (int p = 0; p < kParts; ++p) {
    T* begin = sums + p * part;
    for (int64_t i = 0; i < part; ++i) begin[i] += before;
    before += running[p];
  }
  return before;
}

template <class T>
void row_sums(const T* values, T* sums, int64_t length) {
  T before = 0;
  int64_t i = 0;
  for (; i < length; i += std::min(kBlock, length - i)) {
    const int64_t part = std::min(kBlock, length - i) / kParts;
    if (part < 4) break;
    before = block_sums(values + i, sums + i, part, before);
    for (int64_t rest = kParts * part; rest < std::min(kBlock, length - i); ++rest)
      sums[i + rest] = before += values[i + rest];
  }
  for (; i < length; ++i) sums[i] = before += values[i];
}

template <class T>
void row_sums_from_end(const T* values, T* sums, int64_t length) {
  T before = 0;
  for (int64_t i = length - 1; i >= 0; --i) sums[i] = before += values[i];
}

// Over a dimension that is not the last: whole rows are added.
template <class T>
void sums_of_rows(const CumulativePlan& plan, const T* values, T* sums) {
  const int64_t first = plan.from_end ? plan.length - 1 : 0, step = plan.from_end ? -1 : 1;
  std::copy_n(values + first * plan.inner, plan.inner, sums + first * plan.inner);
  for (int64_t n = 1, row = first + step; n < plan.length; ++n, row += step) {
    const T *here = values + row * plan.inner, *before = sums + (row - step) * plan.inner;
    T* out = sums + row * plan.inner;
    for (int64_t i = 0; i < plan.inner; ++i) out[i] = here[i] + before[i];
  }
}

template <class T>
void all_sums(const CumulativePlan& plan, const void* values, void* sums) {
  if (plan.length == 0) return;
  const int64_t size = plan.length * plan.inner;
  for (int64_t row = 0; row < plan.outer; ++row) {
    const T* from = static_cast<const T*>(values) + row * size;
    T* to = static_cast<T*>(sums) + row * size;
    if (plan.inner != 1)
      sums_of_rows(plan, from, to);
    else if (plan.from_end)
      row_sums_from_end(from, to, plan.length);
    else
      row_sums(from, to, plan.length);
  }
}

}  // namespace

std::string CumulativePlan::text() const {
  return plan_text({static_cast<int64_t>(type), int64_t{from_end}, outer, length, inner});
}

CumulativePlan CumulativePlan::from_text(std::string_view text) {
  const std::vector<int64_t> numbers = plan_numbers(text);
  if (numbers.size() != 5 || numbers[0] > static_cast<int64_t>(SumType::S32))
    throw Error("not the configuration of a cumulative sum", std::string(text));
  return {static_cast<SumType>(numbers[0]), numbers[1] != 0, numbers[2], numbers[3], numbers[4]};
}

void cumulative_sum(const CumulativePlan& plan, const void* values, void* sums) {
  switch (plan.type) {
    case SumType::F32:
      return all_sums<float>(plan, values, sums);
    case SumType::F64:
      return all_sums<double>(plan, values, sums);
    case SumType::S32:
      return all_sums<uint32_t>(plan, values, sums);
  }
}

}  // namespace hone
