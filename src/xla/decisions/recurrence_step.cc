#include "decisions/recurrence_step.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "decisions/dot_roles.h"
#include "decisions/recurrence_sides.h"
#include "decisions/splat.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;
using xla::ShapeUtil;

constexpr int64_t kMostBefore = int64_t{1} << 28;  // elements of a product of all steps: 1 GiB
constexpr int64_t kNone = -1;                      // no such value
constexpr size_t kMostValues = 500;

bool is_number_type(const xla::Shape& shape) {
  return shape.IsArray() && (shape.element_type() == xla::F32 || shape.element_type() == xla::PRED);
}
bool of_f32(const HloInstruction* value) {
  return value->shape().IsArray() && value->shape().element_type() == xla::F32;
}

struct OpcodeOfStep {
  HloOpcode opcode;
  StepOp op;
};
constexpr OpcodeOfStep kOpcodes[] = {
    {HloOpcode::kNegate, StepOp::Negate},     {HloOpcode::kAbs, StepOp::Absolute},
    {HloOpcode::kExp, StepOp::Exponential},   {HloOpcode::kTanh, StepOp::Tanh},
    {HloOpcode::kLogistic, StepOp::Logistic}, {HloOpcode::kAdd, StepOp::Add},
    {HloOpcode::kSubtract, StepOp::Subtract}, {HloOpcode::kMultiply, StepOp::Multiply},
    {HloOpcode::kDivide, StepOp::Divide},     {HloOpcode::kMaximum, StepOp::Maximum},
    {HloOpcode::kMinimum, StepOp::Minimum},   {HloOpcode::kSelect, StepOp::Select},
};

class StepPlanner {
 public:
  StepPlanner(const RecurrentLoop& loop, bool turned) : loop_(loop), turned_(turned), operands_(loop) {}

  std::optional<PlannedLoop> plan() {
    plan_.steps = loop_.steps;
    if (!plan_states()) return {};
    for (size_t s = 0; s < plan_.states.size(); ++s) {
      CarriedState& state = plan_.states[s];
      state.next = value({loop_.parts[part_of_state_[s]].next, sides_[s]}, 0, state.columns);
      if (state.next == kNone) return {};
    }
    for (const LoopPart& part : loop_.parts)
      if (part.kind == LoopPart::Written && !plan_written(part)) return {};
    if (!plan_.fits()) return {};
    return PlannedLoop{std::move(plan_), std::move(operands_), has_dots_};
  }

 private:
  bool plan_states() {
    int64_t results = 0;
    plan_.rows = 0;
    for (size_t p = 0; p < loop_.parts.size(); ++p) {
      if (loop_.parts[p].kind != LoopPart::Carried) continue;
      const xla::Shape& shape = loop_.loop->shape().tuple_shapes(static_cast<int>(p));
      if (!shape.IsArray() || shape.element_type() != xla::F32 || ShapeUtil::IsZeroElementArray(shape)) return false;
      const auto sides = sides_of(shape, turned_);
      if (!sides) return false;
      const int64_t rows = size_at(shape, sides->row), columns = size_at(shape, sides->column);
      if (plan_.rows != 0 && plan_.rows != rows) return false;
      plan_.rows = rows;
      state_of_part_[static_cast<int64_t>(p)] = static_cast<int64_t>(plan_.states.size());
      part_of_state_.push_back(static_cast<int64_t>(p));
      sides_.push_back(*sides);
      plan_.states.push_back({columns, kNone, array_of(operands_.given(static_cast<int64_t>(p)), shape, *sides),
                              array_of(results++, shape, *sides)});
    }
    return !plan_.states.empty();
  }

  bool plan_written(const LoopPart& part) {
    const xla::Shape& slice = part.next->shape();
    if (!of_f32(part.next) || ShapeUtil::IsZeroElementArray(slice)) return false;
    const auto sides = sides_of(slice, turned_, part.dimension);
    if (!sides || size_at(slice, sides->row) != plan_.rows) return false;
    const int64_t columns = size_at(slice, sides->column);
    const int64_t written = value({part.next, *sides}, 0, columns);
    if (written == kNone) return false;
    // Of the whole array, which is longer along the steps' dimension.
    xla::Shape whole = slice;
    if (part.dimension >= 0) whole.set_dimensions(static_cast<int>(part.dimension), loop_.steps);
    const int64_t result = static_cast<int64_t>(plan_.states.size() + plan_.written.size());
    plan_.written.push_back({written, stepped(array_of(result, whole, *sides), whole, part.dimension, part.index)});
    return true;
  }

  int64_t add(StepValue value) {
    if (plan_.values.size() >= kMostValues) return kNone;
    plan_.values.push_back(std::move(value));
    return static_cast<int64_t>(plan_.values.size()) - 1;
  }

  // Columns [from, from + columns) of a value of the step; kNone where the kernel cannot compute them.
  int64_t value(At at, int64_t from, int64_t columns) {
    at = traced_back(at);
    if (!is_number_type(at.value->shape())) return kNone;
    const auto key = std::make_tuple(at.value, at.sides.row, at.sides.column, from, columns);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    known_[key] = kNone;  // nothing is made of itself, but the search for it ends
    if (depth_ == kMostValues) return kNone;
    ++depth_;
    const int64_t made = made_value(at, from, columns);
    --depth_;
    return known_[key] = made;
  }

  int64_t made_value(const At& at, int64_t from, int64_t columns) {
    HloInstruction& op = *at.value;
    if (const HloInstruction* constant = splat_of(&op))
      return add({.op = StepOp::Number, .columns = columns, .array = {}, .number = number_of(*constant)});
    if (operands_.is_kept(&op)) {
      const LoopArray array = from_column(array_of(operands_.kept(&op), op.shape(), at.sides), from);
      return add({.op = StepOp::Read, .columns = columns, .array = array});
    }
    switch (op.opcode()) {
      case HloOpcode::kGetTupleElement:
      case HloOpcode::kCopy:
        return carried(at, from, columns);
      case HloOpcode::kSlice:
        return slice(at, from, columns);
      case HloOpcode::kConcatenate:
        return part_of_concatenation(at, from, columns);
      case HloOpcode::kDynamicSlice:
        return sequence(at, from, columns);
      case HloOpcode::kDot:
        return dot(at, from, columns);
      default:
        return elementwise(at, from, columns);
    }
  }

  static float number_of(const HloInstruction& constant) {
    if (constant.shape().element_type() == xla::PRED) return constant.literal().GetFirstElement<bool>() ? 1 : 0;
    return constant.literal().GetFirstElement<float>();
  }

  int64_t carried(const At& at, int64_t from, int64_t columns) {
    const auto state = state_of_part_.find(part_of(loop_, at.value));
    if (state == state_of_part_.end()) return kNone;
    const Sides& sides = sides_[state->second];
    if (at.sides.row != sides.row || at.sides.column != sides.column ||
        from + columns > plan_.states[state->second].columns)  // a scalar that is spread
      return kNone;
    return add({.op = StepOp::Carried, .columns = columns, .state = state->second, .from = from, .array = {}});
  }

  int64_t slice(const At& at, int64_t from, int64_t columns) {
    const HloInstruction& op = *at.value;
    for (int64_t d = 0; d < static_cast<int64_t>(op.shape().dimensions().size()); ++d) {
      if (op.slice_strides(d) != 1) return kNone;
      if (d == at.sides.column)
        from += op.slice_starts(d);
      else if (op.shape().dimensions(d) != op.operand(0)->shape().dimensions(d))
        return kNone;
    }
    return value({at.value->mutable_operand(0), at.sides}, from, columns);
  }

  int64_t part_of_concatenation(const At& at, int64_t from, int64_t columns) {
    if (at.value->concatenate_dimension() != at.sides.column) return kNone;
    for (HloInstruction* part : at.value->operands()) {
      const int64_t size = part->shape().dimensions(at.sides.column);
      if (from < size) return from + columns <= size ? value({part, at.sides}, from, columns) : kNone;
      from -= size;
    }
    return kNone;
  }

  // The slice of one step, if it is of an array that no step changes.
  std::optional<SteppedSlice> slice_of_step(HloInstruction* op) {
    if (op->opcode() != HloOpcode::kDynamicSlice || !is_number_type(op->shape()) ||
        !operands_.is_kept(op->mutable_operand(0)))
      return {};
    return stepped_slice(loop_, *op, op->shape(), 1);
  }

  int64_t sequence(const At& at, int64_t from, int64_t columns) {
    const auto slice = slice_of_step(at.value);
    if (!slice) return kNone;
    HloInstruction* whole = at.value->mutable_operand(0);
    const LoopArray array = array_of(operands_.kept(whole), whole->shape(), at.sides);
    return add({.op = StepOp::Read,
                .columns = columns,
                .array = from_column(stepped(array, whole->shape(), slice->dimension, slice->index), from)});
  }

  int64_t elementwise(const At& at, int64_t from, int64_t columns) {
    HloInstruction& op = *at.value;
    const auto operand = [&](int i) {
      HloInstruction* of = op.mutable_operand(i);  // one number, where an operation takes it for all elements
      return value({of, ShapeUtil::IsScalar(of->shape()) ? Sides{} : at.sides}, from, columns);
    };
    const auto make = [&](StepOp kind, int64_t a, int64_t b = kNone, int64_t c = kNone) {
      const int64_t of[] = {a, b, c};
      for (int i = 0; i < elementwise_operands(kind); ++i)
        if (of[i] == kNone) return kNone;
      return add({.op = kind, .columns = columns, .of = {a, b, c}, .array = {}});
    };
    const auto zeros = [&] { return add({.op = StepOp::Number, .columns = columns, .array = {}}); };
    switch (op.opcode()) {
      case HloOpcode::kCompare:
        return compared(op, operand(0), operand(1), zeros(), make);
      case HloOpcode::kClamp:
        return make(StepOp::Minimum, make(StepOp::Maximum, operand(0), operand(1)), operand(2));
      case HloOpcode::kConvert:  // from truth values
        return of_f32(&op) ? operand(0) : kNone;
      case HloOpcode::kNot:
        return make(StepOp::Equal, operand(0), zeros());
      case HloOpcode::kAnd:
        return make(StepOp::Minimum, operand(0), operand(1));
      case HloOpcode::kOr:
        return make(StepOp::Maximum, operand(0), operand(1));
      case HloOpcode::kDivide: {
        const int64_t a = operand(0), b = operand(1), x = inside_logistic(a, b);
        return x == kNone ? make(StepOp::Divide, a, b) : make(StepOp::Logistic, x);
      }
      default:
        break;
    }
    for (const OpcodeOfStep& row : kOpcodes) {
      if (row.opcode != op.opcode()) continue;
      if (!of_f32(&op) || op.operand_count() != elementwise_operands(row.op)) return kNone;
      return make(row.op, operand(0), op.operand_count() > 1 ? operand(1) : kNone,
                  op.operand_count() > 2 ? operand(2) : kNone);
    }
    return kNone;
  }

  template <class Make>
  static int64_t compared(const HloInstruction& op, int64_t a, int64_t b, int64_t zeros, Make make) {
    if (!of_f32(op.operand(0)) || xla::Cast<xla::HloCompareInstruction>(&op)->order() == xla::Comparison::Order::kTotal)
      return kNone;
    switch (op.comparison_direction()) {
      case xla::ComparisonDirection::kEq:
        return make(StepOp::Equal, a, b);
      case xla::ComparisonDirection::kLt:
        return make(StepOp::Less, a, b);
      case xla::ComparisonDirection::kLe:
        return make(StepOp::LessEqual, a, b);
      case xla::ComparisonDirection::kGt:
        return make(StepOp::Less, b, a);
      case xla::ComparisonDirection::kGe:
        return make(StepOp::LessEqual, b, a);
      default:
        return make(StepOp::Equal, make(StepOp::Equal, a, b), zeros);
    }
  }

  // x of 1 / (1 + exp(-x)).
  int64_t inside_logistic(int64_t one, int64_t sum) const {
    const auto is = [&](int64_t v, StepOp op) { return v != kNone && plan_.values[v].op == op; };
    const auto is_one = [&](int64_t v) { return is(v, StepOp::Number) && plan_.values[v].number == 1; };
    if (!is_one(one) || !is(sum, StepOp::Add)) return kNone;
    const auto& of = plan_.values[sum].of;
    const int64_t exponential = is_one(of[0]) ? of[1] : is_one(of[1]) ? of[0] : kNone;
    if (!is(exponential, StepOp::Exponential)) return kNone;
    const int64_t negated = plan_.values[exponential].of[0];
    return is(negated, StepOp::Negate) ? plan_.values[negated].of[0] : kNone;
  }

  // Columns of a dot's result: its other operand must be kept, and what they are columns of.
  int64_t dot(const At& at, int64_t from, int64_t columns) {
    HloInstruction& op = *at.value;
    const DotRoles roles[] = {left_roles(op), right_roles(op)};
    if (at.sides.column < 0 || !roles[0].batch.empty() || roles[0].contracting.size() != 1 || !of_f32(&op) ||
        !of_f32(op.operand(0)) || !of_f32(op.operand(1)) ||
        op.precision_config().algorithm() != xla::PrecisionConfig::ALG_UNSET)
      return kNone;
    const auto left_free = static_cast<int64_t>(roles[0].free.size());
    const auto operand_of = [&](int64_t d) { return d < left_free ? 0 : 1; };
    const auto dimension_of = [&](int64_t d) {
      return d < left_free ? roles[0].free[d] : roles[1].free[d - left_free];
    };
    const int right = operand_of(at.sides.column), left = 1 - right;
    if (at.sides.row >= 0 && operand_of(at.sides.row) == right) return kNone;
    At matrix = {op.mutable_operand(right), {roles[right].contracting[0], dimension_of(at.sides.column)}};
    const int64_t depth = op.operand(right)->shape().dimensions(matrix.sides.row);
    matrix = traced_back(matrix);
    if (depth < 2 || matrix.sides.row < 0 || matrix.sides.column < 0 || !operands_.is_kept(matrix.value) ||
        !of_f32(matrix.value))
      return kNone;
    const At side = {op.mutable_operand(left),
                     {at.sides.row < 0 ? -1 : dimension_of(at.sides.row), roles[left].contracting[0]}};
    const DotParts parts{matrix, &op, from, columns};
    return product(side, parts, 0, depth);
  }

  struct DotParts {
    At matrix;  // its rows are what is summed over
    HloInstruction* dot;
    int64_t from, columns;
  };

  // The dot of a value with rows [first, first + depth) of a matrix.
  int64_t product(At side, const DotParts& parts, int64_t first, int64_t depth) {
    side = traced_back(side);
    if (side.sides.column < 0) return kNone;
    if (side.value->opcode() == HloOpcode::kConcatenate && side.value->concatenate_dimension() == side.sides.column)
      return product_of_parts(side, parts, first);
    if (const int64_t before = product_before(side, parts, first, depth); before != kNone) return before;
    const int64_t left = value(side, 0, depth);
    if (left == kNone) return kNone;
    has_dots_ = true;
    const At& m = parts.matrix;
    LoopArray array = array_of(operands_.kept(m.value), m.value->shape(), m.sides);
    array.first += first * array.row + parts.from * array.column;
    return add({.op = StepOp::Dot, .columns = parts.columns, .of = {left, -1, -1}, .array = array});
  }

  int64_t product_of_parts(const At& side, const DotParts& parts, int64_t first) {
    int64_t sum = kNone;
    for (HloInstruction* part : side.value->operands()) {
      const int64_t depth = part->shape().dimensions(side.sides.column);
      if (depth == 0) continue;
      const int64_t next = product({part, side.sides}, parts, first, depth);
      if (next == kNone) return kNone;
      sum =
          sum == kNone ? next : add({.op = StepOp::Add, .columns = parts.columns, .of = {sum, next, -1}, .array = {}});
      if (sum == kNone) return kNone;
      first += depth;
    }
    return sum;
  }

  // Of what a sequence holds for each step: one dot for all steps, before the loop. kNone: of something else.
  int64_t product_before(const At& side, const DotParts& parts, int64_t first, int64_t depth) {
    const auto slice = slice_of_step(side.value);
    if (!slice || !of_f32(side.value)) return kNone;
    HloInstruction* whole = side.value->mutable_operand(0);
    const int64_t contracted = side.sides.column;
    if (slice->dimension >= 0 && whole->shape().dimensions(slice->dimension) > 2 * loop_.steps) return kNone;
    const At& m = parts.matrix;
    const int64_t all_columns = m.value->shape().dimensions(m.sides.column);
    std::vector<int64_t> sizes(whole->shape().dimensions().begin(), whole->shape().dimensions().end());
    sizes.erase(sizes.begin() + contracted);
    sizes.push_back(all_columns);
    const xla::Shape shape = ShapeUtil::MakeShape(xla::F32, sizes);
    if (ShapeUtil::ElementsIn(shape) > kMostBefore) return kNone;  // then each step multiplies what it reads
    const auto moved = [&](int64_t d) { return d > contracted ? d - 1 : d; };
    const Sides sides{moved(side.sides.row), static_cast<int64_t>(sizes.size()) - 1};
    const int64_t operand = operands_.dot(whole, contracted, {m.value, m.sides.row, m.sides.column, first, depth},
                                          parts.dot->precision_config());
    const LoopArray array = stepped(array_of(operand, shape, sides), shape, moved(slice->dimension), slice->index);
    return add({.op = StepOp::Read, .columns = parts.columns, .array = from_column(array, parts.from)});
  }

  const RecurrentLoop& loop_;
  const bool turned_;
  RecurrenceOperands operands_;
  RecurrencePlan plan_;
  bool has_dots_ = false;
  std::map<int64_t, int64_t> state_of_part_;
  std::vector<int64_t> part_of_state_;
  std::vector<Sides> sides_;  // of the states
  size_t depth_ = 0;          // of values within value()
  std::map<std::tuple<const HloInstruction*, int64_t, int64_t, int64_t, int64_t>, int64_t> known_;
};

}  // namespace

std::optional<PlannedLoop> planned_loop(const RecurrentLoop& loop) {
  for (const bool turned : {false, true})
    if (std::optional<PlannedLoop> planned = StepPlanner(loop, turned).plan()) return planned;
  return {};
}

}  // namespace hone::xla_side
