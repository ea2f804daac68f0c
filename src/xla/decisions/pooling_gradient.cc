#include "decisions/pooling_gradient.h"

#include <algorithm>

#include "decisions/arithmetic.h"
#include "decisions/window_slices.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/window_util.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::ComparisonDirection;
using xla::HloComputation;
using xla::HloInstruction;
using xla::HloOpcode;
using xla::Shape;
using xla::ShapeUtil;

// Whether the computation applies one operation to its two parameters in order.
bool is_one(const HloComputation& computation, HloOpcode opcode) {
  const HloInstruction& root = *computation.root_instruction();
  return root.opcode() == opcode && computation.num_parameters() == 2 && computation.instruction_count() == 3 &&
         root.operand(0) == computation.parameter_instruction(0) &&
         root.operand(1) == computation.parameter_instruction(1);
}

// Builds the form in the computation of the select-and-scatter.
class ShiftedScatter : Arithmetic {
 public:
  explicit ShiftedScatter(HloInstruction* scatter)
      : Arithmetic(scatter->parent()),
        scatter_(scatter),
        window_(scatter->window()),
        type_(scatter->shape().element_type()),
        rank_(scatter->shape().dimensions().size()),
        in_(scatter->operand(0)->shape().dimensions().begin(), scatter->operand(0)->shape().dimensions().end()),
        out_(scatter->operand(1)->shape().dimensions().begin(), scatter->operand(1)->shape().dimensions().end()) {
    for (const auto& w : window_.dimensions()) {
      sizes_.push_back(w.size());
      strides_.push_back(w.stride());
    }
    for (size_t d = 0; d < rank_; ++d) windows_.push_back(in_window(d) ? out_[d] : 1);
  }

  HloInstruction* build() {
    return uninterleaved(interleaved(0, {}, unary(HloOpcode::kOptimizationBarrier, selected_positions())));
  }

 private:
  static Shape shape(xla::PrimitiveType type, const Position& sizes) { return ShapeUtil::MakeShape(type, sizes); }
  HloInstruction* number(int64_t position) {
    return filled(xla::LiteralUtil::CreateR0<int8_t>(static_cast<int8_t>(position)), out_);
  }
  // Which windows have an element at this position, outside the padding; of all images and features the first.
  std::vector<bool> inside(const Position& position) const {
    std::vector<bool> all;
    for_each_position(windows_, [&](const Position& at) {
      bool valid = true;
      for (size_t d = 0; d < rank_; ++d) {
        const int64_t from = at[d] * strides_[d] + position[d] - window_.dimensions(d).padding_low();
        valid = valid && from >= 0 && from < in_[d];
      }
      all.push_back(valid);
    });
    return all;
  }
  // As an array of the dimensions with windows; null where all are true.
  HloInstruction* mask(const std::vector<bool>& values) {
    if (std::find(values.begin(), values.end(), false) == values.end()) return nullptr;
    Position kept, kept_sizes;
    for (size_t d = 0; d < rank_; ++d)
      if (in_window(d)) kept.push_back(static_cast<int64_t>(d)), kept_sizes.push_back(out_[d]);
    xla::Literal literal(shape(xla::PRED, kept_sizes));
    size_t n = 0;
    for_each_position(windows_, [&](const Position& at) {
      Position index;
      for (const int64_t d : kept) index.push_back(at[d]);
      literal.Set<bool>(index, values[n++]);
    });
    HloInstruction* small = add(HloInstruction::CreateConstant(std::move(literal)));
    return add(HloInstruction::CreateBroadcast(shape(xla::PRED, out_), small, kept));
  }
  bool in_window(size_t d) const {
    const auto& w = window_.dimensions(d);
    return w.size() > 1 || w.padding_low() != 0 || w.padding_high() != 0 || w.stride() > 1;
  }

  // XLA keeps what is selected while it compares as `select` says, and never selects padding.
  HloInstruction* selected_positions() {
    HloInstruction* fill = add(HloInstruction::CreateConstant(xla::LiteralUtil::Zero(type_)));
    HloInstruction* input = scatter_->mutable_operand(0);
    Position axes;
    for (size_t d = 0; d < rank_; ++d) axes.push_back(static_cast<int64_t>(d));
    if (pads(window_)) input = padded(input, fill, window_, axes);
    HloInstruction *best = nullptr, *selected = nullptr;
    std::vector<bool> seen;
    int64_t n = 0;
    for_each_position(sizes_, [&](const Position& position) {
      Position to;
      for (size_t d = 0; d < rank_; ++d) to.push_back(position[d] + (out_[d] - 1) * strides_[d] + 1);
      HloInstruction* element = sliced(input, position, to, strides_);
      const std::vector<bool> valid = inside(position);
      if (best == nullptr) {
        best = element;
        selected = number(0);
        seen = valid;
      } else {
        HloInstruction* keep = compare(best, element, direction());
        if (HloInstruction* known = mask(seen)) keep = binary(HloOpcode::kAnd, keep, known);
        if (HloInstruction* here = mask(valid)) keep = binary(HloOpcode::kOr, keep, unary(HloOpcode::kNot, here));
        best = select(keep, best, element);
        selected = select(keep, selected, number(n));
        for (size_t i = 0; i < seen.size(); ++i) seen[i] = seen[i] || valid[i];
      }
      ++n;
    });
    return selected;
  }
  ComparisonDirection direction() const { return scatter_->select()->root_instruction()->comparison_direction(); }

  // Places q * stride + remainder are reached by the window positions of that remainder.
  int64_t quotients(size_t d) const {
    const int64_t reach = window_.dimensions(d).padding_low() + in_[d];
    return std::max((reach + strides_[d] - 1) / strides_[d], out_[d] + (sizes_[d] - 1) / strides_[d]);
  }

  // All places whose remainders in the first dimensions are these, of shape [q0, q1, ..] with a stride behind each dimension
  // that is interleaved already.
  HloInstruction* interleaved(size_t from, Position remainders, HloInstruction* selected) {
    while (from < rank_ && strides_[from] == 1) remainders.push_back(0), ++from;
    if (from == rank_) return sum_at(remainders, selected);
    std::vector<HloInstruction*> parts;
    for (int64_t remainder = 0; remainder < strides_[from]; ++remainder) {
      Position next = remainders;
      next.push_back(remainder);
      HloInstruction* part = interleaved(from + 1, next, selected);
      Position sizes = sizes_of(part);
      sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(from) + 1, 1);
      parts.push_back(reshaped(part, sizes));
    }
    return concatenated(parts, static_cast<int64_t>(from) + 1);
  }

  HloInstruction* sum_at(const Position& remainders, HloInstruction* selected) {
    Position sizes;
    for (size_t d = 0; d < rank_; ++d) sizes.push_back(quotients(d));
    HloInstruction *zero = add(HloInstruction::CreateConstant(xla::LiteralUtil::Zero(type_))), *sum = nullptr;
    HloInstruction* zeros = add(HloInstruction::CreateBroadcast(shape(type_, out_), zero, {}));
    int64_t n = 0;
    for_each_position(sizes_, [&](const Position& position) {
      const int64_t current = n++;
      xla::PaddingConfig padding;
      for (size_t d = 0; d < rank_; ++d) {
        if (position[d] % strides_[d] != remainders[d]) return;
        auto* config = padding.add_dimensions();
        config->set_edge_padding_low(position[d] / strides_[d]);
        config->set_edge_padding_high(sizes[d] - out_[d] - position[d] / strides_[d]);
      }
      HloInstruction* scattered =
          select(compare(selected, number(current), ComparisonDirection::kEq), scatter_->mutable_operand(1), zeros);
      HloInstruction* placed = add(HloInstruction::CreatePad(shape(type_, sizes), scattered, zero, padding));
      sum = sum == nullptr ? placed : binary(HloOpcode::kAdd, sum, placed);
    });
    return sum != nullptr ? sum : add(HloInstruction::CreateBroadcast(shape(type_, sizes), zero, {}));
  }

  // Drops the padding.
  HloInstruction* uninterleaved(HloInstruction* value) {
    Position sizes, from, to;
    for (size_t d = 0; d < rank_; ++d) {
      sizes.push_back(quotients(d) * strides_[d]);
      from.push_back(window_.dimensions(d).padding_low());
      to.push_back(from.back() + in_[d]);
    }
    return sliced(reshaped(value, sizes), from, to, Position(rank_, 1));
  }

  HloInstruction* scatter_;
  const xla::Window window_;
  xla::PrimitiveType type_;
  size_t rank_;
  Position in_, out_, sizes_, strides_;
  Position windows_;  // as `out_`, with one element where there is no window
};

}  // namespace

bool is_expandable_scatter(const HloInstruction& op) {
  if (op.opcode() != HloOpcode::kSelectAndScatter || !op.shape().IsArray() || !is_float(op.shape()) ||
      !has_elements(op) || window_positions(op.window()) > kMostSlices)
    return false;
  for (const auto& w : op.window().dimensions())
    if (w.padding_low() < 0 || w.padding_high() < 0 || w.base_dilation() != 1 || w.window_dilation() != 1 ||
        w.window_reversal())
      return false;
  const HloInstruction& init = *op.operand(2);
  if (init.opcode() != HloOpcode::kConstant || !init.literal().IsAll(0)) return false;
  if (!is_one(*op.select(), HloOpcode::kCompare) || !is_one(*op.scatter(), HloOpcode::kAdd)) return false;
  const ComparisonDirection direction = op.select()->root_instruction()->comparison_direction();
  return direction == ComparisonDirection::kGe || direction == ComparisonDirection::kLe;
}

HloInstruction* shifted_scatter(HloInstruction* scatter) { return ShiftedScatter(scatter).build(); }

}  // namespace hone::xla_side
