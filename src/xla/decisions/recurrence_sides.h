// Rows and columns of the arrays in a loop.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "decisions/arithmetic.h"
#include "decisions/recurrent_loop.h"
#include "decisions/softmax_scores.h"
#include "kernels/recurrence_plan.h"

namespace hone::xla_side {

// Which dimensions of an array are rows and columns, or -1 where elements are equal along them.
struct Sides {
  int64_t row = -1, column = -1;
};

inline std::vector<int64_t> long_dimensions(const xla::Shape& shape, int64_t but = -1) {
  std::vector<int64_t> found;
  for (int64_t d = 0; d < static_cast<int64_t>(shape.dimensions().size()); ++d)
    if (d != but && shape.dimensions(d) != 1) found.push_back(d);
  return found;
}

// Rows before columns, or after them where the loop's arrays are `turned`; nullopt where there are more dimensions.
inline std::optional<Sides> sides_of(const xla::Shape& shape, bool turned, int64_t but = -1) {
  const std::vector<int64_t> found = long_dimensions(shape, but);
  if (found.size() > 2) return {};
  if (found.size() < 2) return Sides{-1, found.empty() ? -1 : found[0]};
  return turned ? Sides{found[1], found[0]} : Sides{found[0], found[1]};
}

inline int64_t size_at(const xla::Shape& shape, int64_t dimension) {
  return dimension < 0 ? 1 : shape.dimensions(dimension);
}

// Of an operand or a result of this number, in an order of elements without gaps.
inline LoopArray array_of(int64_t array, const xla::Shape& shape, Sides sides) {
  const std::vector<int64_t> strides = dense_strides(shape);
  const auto stride = [&](int64_t d) { return d < 0 || shape.dimensions(d) == 1 ? 0 : strides[d]; };
  return {array, 0, 0, stride(sides.row), stride(sides.column)};
}

// The same, but of another part in each step.
inline LoopArray stepped(LoopArray array, const xla::Shape& shape, int64_t dimension, StepIndex index) {
  if (dimension < 0) return array;
  const int64_t stride = dense_strides(shape)[dimension];
  array.first = index.first * stride;
  array.step = index.step * stride;
  return array;
}

inline LoopArray from_column(LoopArray array, int64_t from) {
  array.first += from * array.column;
  return array;
}

struct At {
  xla::HloInstruction* value;
  Sides sides;
};

// Back through transposes, broadcasts and reshapes, and tuples.
inline At traced_back(At at) {
  for (;;) {
    TracedValue traced_value{untupled(at.value), {at.sides.row, at.sides.column}};
    traced_value = traced(std::move(traced_value));
    const At next{untupled(traced_value.value), {traced_value.dimensions[0], traced_value.dimensions[1]}};
    const bool same = next.value == at.value;
    at = next;
    if (same) break;
  }
  if (at.sides.row >= 0 && at.value->shape().dimensions(at.sides.row) == 1) at.sides.row = -1;
  if (at.sides.column >= 0 && at.value->shape().dimensions(at.sides.column) == 1) at.sides.column = -1;
  return at;
}

}  // namespace hone::xla_side
