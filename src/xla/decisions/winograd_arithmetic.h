// What the transforms of Winograd's method are made of: slices, and combinations of arrays by the rows of a matrix.
#pragma once

#include <algorithm>
#include <vector>

#include "decisions/arithmetic.h"
#include "decisions/fusion_barrier.h"
#include "decisions/window_slices.h"
#include "decisions/winograd_forms.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace hone::xla_side {

class WinogradArithmetic : protected Arithmetic {
 protected:
  // In arrays of this type: f64, or f32 for all others, as in libraries.
  explicit WinogradArithmetic(HloInstruction* conv)
      : Arithmetic(conv->parent()), type_(conv->shape().element_type() == xla::F64 ? xla::F64 : xla::F32) {}

  xla::Shape shape(const Sizes& sizes) const { return xla::ShapeUtil::MakeShape(type_, sizes); }
  HloInstruction* slice(HloInstruction* value, const Sizes& from, const Sizes& to, Sizes step = {}) {
    if (step.empty()) step.assign(from.size(), 1);
    if (to == sizes_of(value) && std::all_of(from.begin(), from.end(), [](int64_t f) { return f == 0; }) &&
        std::all_of(step.begin(), step.end(), [](int64_t s) { return s == 1; }))
      return value;
    return sliced(value, from, to, step);
  }
  // Every `step`-th of `count` elements of one dimension.
  HloInstruction* every(HloInstruction* value, int64_t dimension, int64_t from, int64_t count, int64_t step) {
    Sizes start(sizes_of(value).size(), 0), end = sizes_of(value), steps(start.size(), 1);
    start[dimension] = from;
    end[dimension] = from + (count - 1) * step + 1;
    steps[dimension] = step;
    return slice(value, start, end, steps);
  }
  HloInstruction* scaled(HloInstruction* value, double by) {
    if (by == 1) return value;
    if (by == -1) return unary(xla::HloOpcode::kNegate, value);
    xla::Literal scalar = type_ == xla::F64 ? xla::LiteralUtil::CreateR0<double>(by)
                                            : xla::LiteralUtil::CreateR0<float>(static_cast<float>(by));
    return binary(xla::HloOpcode::kMultiply, value, filled(std::move(scalar), sizes_of(value)));
  }
  HloInstruction* combined(const std::vector<double>& row, const std::vector<HloInstruction*>& values) {
    HloInstruction* sum = nullptr;
    for (size_t k = 0; k < row.size(); ++k) {
      if (row[k] == 0) continue;
      HloInstruction* term = scaled(values[k], row[k]);
      sum = sum == nullptr ? term : binary(xla::HloOpcode::kAdd, sum, term);
    }
    return sum;
  }
  // One combination of the values for each row of the matrix, side by side in a dimension added at `at`.
  HloInstruction* transformed(const Matrix& matrix, const std::vector<HloInstruction*>& values, int64_t at) {
    std::vector<HloInstruction*> parts;
    Sizes sizes = sizes_of(values[0]);
    sizes.insert(sizes.begin() + at, 1);
    for (const std::vector<double>& row : matrix) parts.push_back(reshaped(combined(row, values), sizes));
    return concatenated(parts, at);
  }
  // The elements along a dimension, without it.
  std::vector<HloInstruction*> split(HloInstruction* value, int64_t dimension = 0) {
    Sizes rest = sizes_of(value);
    rest.erase(rest.begin() + dimension);
    std::vector<HloInstruction*> parts;
    for (int64_t i = 0; i < value->shape().dimensions(dimension); ++i)
      parts.push_back(reshaped(every(value, dimension, i, 1, 1), rest));
    return parts;
  }

  // Dimensions of an operand: `first` (-1: none), the spatial ones in order, then `last`.
  template <class Dimensions>
  static Sizes order_of(int64_t first, const Dimensions& spatial, std::initializer_list<int64_t> last) {
    Sizes order;
    if (first >= 0) order.push_back(first);
    order.insert(order.end(), spatial.begin(), spatial.end());
    order.insert(order.end(), last);
    return order;
  }
  // Dimensions 1 and 2 with zeros around them, to these sizes. Computed once: every element is read by several tiles, and padding
  // is a branch in the loop that reads it.
  HloInstruction* padded_to(HloInstruction* value, int64_t low_rows, int64_t rows, int64_t low_columns,
                            int64_t columns) {
    xla::PaddingConfig padding = xla::MakeNoPaddingConfig(4);
    Sizes sizes = sizes_of(value);
    const auto pad = [&](int64_t d, int64_t low, int64_t size) {
      padding.mutable_dimensions(d)->set_edge_padding_low(low);
      padding.mutable_dimensions(d)->set_edge_padding_high(size - sizes[d] - low);
      sizes[d] = size;
    };
    pad(1, low_rows, rows);
    pad(2, low_columns, columns);
    HloInstruction* zero = add(HloInstruction::CreateConstant(xla::LiteralUtil::Zero(type_)));
    return with_barrier(add(HloInstruction::CreatePad(shape(sizes), value, zero, padding)));
  }

  xla::PrimitiveType type_;
};

}  // namespace hone::xla_side
