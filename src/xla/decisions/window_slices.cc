#include "decisions/window_slices.h"

#include <numeric>

#include "xla/window_util.h"
#include "xla_pch.h"

namespace hone::xla_side {

using xla::HloInstruction;
using xla::Shape;
using xla::ShapeUtil;

bool is_float(const Shape& shape) {
  return shape.element_type() == xla::F32 || shape.element_type() == xla::F64 || shape.element_type() == xla::BF16 ||
         shape.element_type() == xla::F16;
}

bool has_elements(const HloInstruction& op) {
  return !ShapeUtil::IsZeroElementArray(op.shape()) && !ShapeUtil::IsZeroElementArray(op.operand(0)->shape()) &&
         !ShapeUtil::IsZeroElementArray(op.operand(1)->shape());
}

int64_t window_positions(const xla::Window& window) {
  return std::accumulate(window.dimensions().begin(), window.dimensions().end(), int64_t{1},
                         [](int64_t n, const xla::WindowDimension& d) { return n * d.size(); });
}

void for_each_position(const Position& sizes, const std::function<void(const Position&)>& visit) {
  Position at(sizes.size(), 0);
  const int64_t count = std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  for (int64_t n = 0; n < count; ++n) {
    visit(at);
    for (size_t i = sizes.size(); i-- > 0 && ++at[i] == sizes[i];) at[i] = 0;
  }
}

HloInstruction* sliced(HloInstruction* value, const Position& from, const Position& to, const Position& step) {
  Position sizes;
  for (size_t d = 0; d < from.size(); ++d) sizes.push_back((to[d] - from[d] + step[d] - 1) / step[d]);
  const Shape shape = ShapeUtil::MakeShape(value->shape().element_type(), sizes);
  return value->parent()->AddInstruction(HloInstruction::CreateSlice(shape, value, from, to, step));
}

bool pads(const xla::Window& window) {
  return xla::window_util::HasPadding(window) || xla::window_util::HasBaseDilation(window);
}

HloInstruction* padded(HloInstruction* value, HloInstruction* fill, const xla::Window& window, const Position& axes) {
  Position sizes(value->shape().dimensions().begin(), value->shape().dimensions().end());
  xla::PaddingConfig padding;
  for (size_t d = 0; d < sizes.size(); ++d) padding.add_dimensions();
  for (size_t i = 0; i < axes.size(); ++i) {
    const xla::WindowDimension& w = window.dimensions(i);
    auto* config = padding.mutable_dimensions(axes[i]);
    config->set_edge_padding_low(w.padding_low());
    config->set_edge_padding_high(w.padding_high());
    config->set_interior_padding(w.base_dilation() - 1);
    sizes[axes[i]] = w.padding_low() + w.padding_high() + (sizes[axes[i]] - 1) * w.base_dilation() + 1;
  }
  const Shape shape = ShapeUtil::MakeShape(value->shape().element_type(), sizes);
  return value->parent()->AddInstruction(HloInstruction::CreatePad(shape, value, fill, padding));
}

}  // namespace hone::xla_side
