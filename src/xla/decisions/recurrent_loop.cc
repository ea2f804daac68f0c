#include "decisions/recurrent_loop.h"

#include <algorithm>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::ComparisonDirection;
using xla::HloInstruction;
using xla::HloOpcode;
using xla::ShapeUtil;

constexpr int64_t kMostSteps = int64_t{1} << 30;
constexpr int kDeepestIndex = 20;  // operations that an index is computed by

std::optional<int64_t> whole_number(const HloInstruction* value) {
  while (value->opcode() == HloOpcode::kCopy) value = value->operand(0);
  if (value->opcode() != HloOpcode::kConstant || !ShapeUtil::IsScalar(value->shape())) return {};
  return value->literal().GetIntegralAsS64({});
}

bool is_counter_type(const xla::Shape& shape) {
  return ShapeUtil::IsScalar(shape) && (shape.element_type() == xla::S32 || shape.element_type() == xla::S64);
}

// The part of its only parameter that a computation's value is; -1: none.
int64_t part_of_parameter(const HloInstruction* value) {
  while (value->opcode() == HloOpcode::kCopy) value = value->operand(0);
  const bool is_part =
      value->opcode() == HloOpcode::kGetTupleElement && value->operand(0)->opcode() == HloOpcode::kParameter;
  return is_part ? value->tuple_index() : -1;
}

// What the loop goes on below: a part of its state and a number.
struct Bound {
  int64_t part, below;
};

std::optional<Bound> bound_of(const xla::HloComputation& condition) {
  const HloInstruction& root = *condition.root_instruction();
  if (root.opcode() != HloOpcode::kCompare) return {};
  for (const int i : {0, 1}) {
    const int64_t part = part_of_parameter(root.operand(i));
    const auto number = whole_number(root.operand(1 - i));
    if (part < 0 || !number || *number > kMostSteps || *number < -kMostSteps) continue;
    const auto direction = root.comparison_direction();
    if (direction == (i == 0 ? ComparisonDirection::kLt : ComparisonDirection::kGt)) return Bound{part, *number};
    if (direction == (i == 0 ? ComparisonDirection::kLe : ComparisonDirection::kGe)) return Bound{part, *number + 1};
  }
  return {};
}

// What a step adds to a part of the state.
std::optional<int64_t> added(HloInstruction* next, int64_t part) {
  if (next->opcode() != HloOpcode::kAdd) return {};
  for (const int i : {0, 1})
    if (part_of_parameter(untupled(next->mutable_operand(i))) == part)
      return whole_number(untupled(next->mutable_operand(1 - i)));
  return {};
}

bool has_effects(const xla::HloComputation& computation) {
  const auto& all = computation.instructions();
  return std::any_of(all.begin(), all.end(), [](const HloInstruction* i) {
    return i->opcode() != HloOpcode::kParameter && (i->HasSideEffect() || !i->control_predecessors().empty());
  });
}

// The values of an index as a line over the steps; comparisons are 1 or 0 if all steps agree.
class IndexLine {
 public:
  explicit IndexLine(const RecurrentLoop& loop) : loop_(loop) {}

  std::optional<StepIndex> of(HloInstruction* value, int depth = kDeepestIndex) const {
    value = untupled(value);
    if (depth == 0) return {};
    if (const auto number = whole_number(value)) return small({*number, 0});
    if (part_of(loop_, value) == loop_.counter) return loop_.count;
    switch (value->opcode()) {
      case HloOpcode::kCopy:
      case HloOpcode::kReshape:
        return of(value->mutable_operand(0), depth - 1);
      case HloOpcode::kConvert:
        return is_counter_type(value->shape()) && is_counter_type(value->operand(0)->shape())
                   ? of(value->mutable_operand(0), depth - 1)
                   : std::nullopt;
      case HloOpcode::kAdd:
      case HloOpcode::kSubtract:
      case HloOpcode::kCompare: {
        if (!is_counter_type(value->operand(0)->shape())) return {};  // others wrap where these do not
        const auto a = of(value->mutable_operand(0), depth - 1), b = of(value->mutable_operand(1), depth - 1);
        if (!a || !b) return {};
        if (value->opcode() == HloOpcode::kAdd) return small({a->first + b->first, a->step + b->step});
        const auto less = small({a->first - b->first, a->step - b->step});
        return value->opcode() == HloOpcode::kSubtract || !less ? less : compared(*less, value->comparison_direction());
      }
      case HloOpcode::kSelect: {
        const auto which = of(value->mutable_operand(0), depth - 1);
        if (!which || which->step != 0) return {};
        return of(value->mutable_operand(which->first != 0 ? 1 : 2), depth - 1);
      }
      default:
        return {};
    }
  }

 private:
  // None that 32 bits do not hold in any step.
  std::optional<StepIndex> small(StepIndex index) const {
    const int64_t last = index.first + (loop_.steps - 1) * index.step;
    const auto fits = [](int64_t number) { return -kMostSteps <= number && number <= kMostSteps; };
    return fits(index.first) && fits(index.step) && fits(last) ? std::optional(index) : std::nullopt;
  }

  std::optional<StepIndex> compared(StepIndex difference, ComparisonDirection direction) const {
    const int64_t last = difference.first + (loop_.steps - 1) * difference.step;
    const int64_t least = std::min(difference.first, last), most = std::max(difference.first, last);
    if (direction == ComparisonDirection::kLt && (most < 0 || least >= 0)) return StepIndex{most < 0 ? 1 : 0, 0};
    if (direction == ComparisonDirection::kGe && (most < 0 || least >= 0)) return StepIndex{most < 0 ? 0 : 1, 0};
    return {};
  }

  const RecurrentLoop& loop_;
};

LoopPart part_at(const RecurrentLoop& loop, int64_t part) {
  HloInstruction* next = untupled(loop.loop->while_body()->root_instruction()->mutable_operand(part));
  if (part_of(loop, next) == part) return {LoopPart::Kept, next, -1, {}};
  if (part == loop.counter) return {LoopPart::Counter, next, -1, {}};
  LoopPart carried{LoopPart::Carried, next, -1, {}};
  if (next->opcode() != HloOpcode::kDynamicUpdateSlice || part_of(loop, untupled(next->mutable_operand(0))) != part)
    return carried;
  const auto slice = stepped_slice(loop, *next, next->operand(1)->shape(), 2);
  if (!slice) return carried;
  const bool all = slice->dimension < 0
                       ? loop.steps == 1
                       : loop.steps == next->shape().dimensions(slice->dimension) && std::abs(slice->index.step) == 1;
  if (!all) return carried;
  return {LoopPart::Written, next->mutable_operand(1), slice->dimension, slice->index};
}

}  // namespace

HloInstruction* untupled(HloInstruction* value) {
  while (value->opcode() == HloOpcode::kGetTupleElement && value->operand(0)->opcode() == HloOpcode::kTuple)
    value = value->mutable_operand(0)->mutable_operand(value->tuple_index());
  return value;
}

int64_t part_of(const RecurrentLoop& loop, const HloInstruction* value) {
  return value->parent() == loop.loop->while_body() ? part_of_parameter(value) : -1;
}

std::optional<SteppedSlice> stepped_slice(const RecurrentLoop& loop, const HloInstruction& op, const xla::Shape& slice,
                                          int first_index) {
  const auto& sizes = op.operand(0)->shape().dimensions();
  SteppedSlice found;
  for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
    if (slice.dimensions(d) == sizes[d]) continue;  // whatever the index is, it becomes 0
    const int operand = first_index + static_cast<int>(d);
    if (found.dimension >= 0 || slice.dimensions(d) != 1 || operand >= op.operand_count()) return {};
    const auto index = IndexLine(loop).of(const_cast<HloInstruction*>(op.operand(operand)));
    if (!index) return {};
    const int64_t last = index->first + (loop.steps - 1) * index->step;
    if (std::min(index->first, last) < 0 || std::max(index->first, last) >= sizes[d]) return {};
    found = {d, *index};
  }
  return found;
}

std::optional<RecurrentLoop> recurrent_loop_of(HloInstruction* loop) {
  if (loop->opcode() != HloOpcode::kWhile || !loop->shape().IsTuple() || loop->has_sharding() ||
      loop->operand(0)->opcode() != HloOpcode::kTuple ||
      loop->while_body()->root_instruction()->opcode() != HloOpcode::kTuple || has_effects(*loop->while_body()) ||
      has_effects(*loop->while_condition()) || !loop->control_predecessors().empty() ||
      !loop->control_successors().empty())
    return {};
  const auto bound = bound_of(*loop->while_condition());
  if (!bound || !is_counter_type(loop->operand(0)->operand(bound->part)->shape())) return {};
  const auto first = whole_number(untupled(loop->mutable_operand(0)->mutable_operand(bound->part)));
  const auto by = added(untupled(loop->while_body()->root_instruction()->mutable_operand(bound->part)), bound->part);
  if (!first || !by || *by < 1 || *by > kMostSteps || *first > kMostSteps || *first < -kMostSteps ||
      *first >= bound->below)
    return {};
  RecurrentLoop found{loop, (bound->below - *first + *by - 1) / *by, bound->part, {*first, *by}, {}};
  for (int64_t part = 0; part < loop->operand(0)->operand_count(); ++part) found.parts.push_back(part_at(found, part));
  return found;
}

}  // namespace hone::xla_side
