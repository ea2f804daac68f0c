#include "decisions/arg_reduction.h"

#include <numeric>
#include <optional>

#include "decisions/arithmetic.h"
#include "decisions/window_slices.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::ComparisonDirection;
using xla::HloComputation;
using xla::HloInstruction;
using xla::HloOpcode;
using xla::ShapeUtil;

bool compares(const HloInstruction& op, ComparisonDirection direction, const HloInstruction* a,
              const HloInstruction* b) {
  return op.opcode() == HloOpcode::kCompare && op.comparison_direction() == direction && op.operand(0) == a &&
         op.operand(1) == b;
}

// Whether `op` combines two values, in either order, for which the predicates hold.
template <class First, class Second>
bool joins(const HloInstruction& op, HloOpcode opcode, First first, Second second) {
  if (op.opcode() != opcode) return false;
  return (first(*op.operand(0)) && second(*op.operand(1))) || (first(*op.operand(1)) && second(*op.operand(0)));
}

bool selects(const HloInstruction& op, const HloInstruction* a, const HloInstruction* b) {
  return op.opcode() == HloOpcode::kSelect && op.operand(1) == a && op.operand(2) == b;
}

// kGt or kLt of the reducer (a, i, b, j) -> (better ? a : b, better or equal and i < j ? i : j).
std::optional<ComparisonDirection> direction_of(const HloComputation& reducer) {
  const HloInstruction& root = *reducer.root_instruction();
  if (reducer.num_parameters() != 4 || root.opcode() != HloOpcode::kTuple || root.operand_count() != 2) return {};
  const HloInstruction *a = reducer.parameter_instruction(0), *i = reducer.parameter_instruction(1),
                       *b = reducer.parameter_instruction(2), *j = reducer.parameter_instruction(3);
  const HloInstruction &value = *root.operand(0), &index = *root.operand(1);
  if (!selects(value, a, b) || !selects(index, i, j)) return {};
  const HloInstruction& better = *value.operand(0);
  const auto nan = [&](const HloInstruction& op) { return compares(op, ComparisonDirection::kNe, a, a); };
  const auto equal = [&](const HloInstruction& op) { return compares(op, ComparisonDirection::kEq, a, b); };
  const auto earlier = [&](const HloInstruction& op) { return compares(op, ComparisonDirection::kLt, i, j); };
  const auto same = [&](const HloInstruction& op) { return &op == &better; };
  const auto tied = [&](const HloInstruction& op) { return joins(op, HloOpcode::kAnd, equal, earlier); };
  if (!joins(*index.operand(0), HloOpcode::kOr, same, tied)) return {};
  for (const auto direction : {ComparisonDirection::kGt, ComparisonDirection::kLt}) {
    const auto beats = [&](const HloInstruction& op) { return compares(op, direction, a, b); };
    if (joins(better, HloOpcode::kOr, beats, nan)) return direction;
  }
  return {};
}

// Whether each element is its own place in this dimension. XLA writes an iota as one of a single dimension, broadcast.
bool counts(const HloInstruction& indices, int64_t dimension) {
  const bool spread = indices.opcode() == HloOpcode::kBroadcast && indices.dimensions().size() == 1;
  if (spread && indices.dimensions(0) != dimension) return false;
  const HloInstruction& iota = spread ? *indices.operand(0) : indices;
  return iota.opcode() == HloOpcode::kIota &&
         xla::Cast<xla::HloIotaInstruction>(&iota)->iota_dimension() == (spread ? 0 : dimension);
}

// Builds both reductions in the computation of the one.
class TwoReductions : Arithmetic {
 public:
  explicit TwoReductions(HloInstruction* op) : Arithmetic(op->parent()), op_(op) {}

  HloInstruction* build() {
    HloInstruction *values = op_->mutable_operand(0), *indices = op_->mutable_operand(1);
    const Sizes dimensions(op_->dimensions().begin(), op_->dimensions().end());
    const bool largest = direction_of(*op_->to_apply()) == ComparisonDirection::kGt;
    HloInstruction* best = best_of(values, dimensions, largest);
    Sizes others(values->shape().dimensions().size());
    std::iota(others.begin(), others.end(), 0);
    others.erase(others.begin() + dimensions[0]);
    HloInstruction* bests = add(HloInstruction::CreateBroadcast(values->shape(), best, others));
    HloInstruction* hit = binary(HloOpcode::kOr, compare(values, bests, ComparisonDirection::kEq),
                                 compare(values, values, ComparisonDirection::kNe));
    const xla::Literal most = xla::LiteralUtil::MaxValue(indices->shape().element_type());
    HloInstruction* last = add(HloInstruction::CreateConstant(most.Clone()));
    HloInstruction* hits = select(hit, indices, filled(most.Clone(), sizes_of(indices)));
    return add(HloInstruction::CreateTuple({best, reduced(hits, last, dimensions, HloOpcode::kMinimum)}));
  }

 private:
  // The largest or least value of each row; no number where one is none, which XLA:CPU's own maximum forgets. So the values are compared as
  // integers in the same order, in which what is no number is the best of all.
  HloInstruction* best_of(HloInstruction* values, const Sizes& dimensions, bool largest) {
    const xla::PrimitiveType type = xla::primitive_util::SignedIntegralTypeForBitWidth(
        8 * xla::primitive_util::ByteWidth(values->shape().element_type()));
    const xla::Literal most = largest ? xla::LiteralUtil::MaxValue(type) : xla::LiteralUtil::MinValue(type);
    const xla::Literal worst = largest ? xla::LiteralUtil::MinValue(type) : xla::LiteralUtil::MaxValue(type);
    HloInstruction* keys = select(compare(values, values, ComparisonDirection::kNe),
                                  filled(most.Clone(), sizes_of(values)), in_order_of_size(bits(values, type)));
    HloInstruction* init = add(HloInstruction::CreateConstant(worst.Clone()));
    HloInstruction* best = reduced(keys, init, dimensions, largest ? HloOpcode::kMaximum : HloOpcode::kMinimum);
    return bits(in_order_of_size(best), values->shape().element_type());
  }
  HloInstruction* bits(HloInstruction* value, xla::PrimitiveType type) {
    return add(HloInstruction::CreateBitcastConvert(xla::ShapeUtil::ChangeElementType(value->shape(), type), value));
  }
  // Of the bits of floats integers in their order, and back: those of negative numbers are counted down from the largest integer.
  HloInstruction* in_order_of_size(HloInstruction* bits) {
    const xla::PrimitiveType type = bits->shape().element_type();
    HloInstruction* most = filled(xla::LiteralUtil::MaxValue(type), sizes_of(bits));
    HloInstruction* zero = filled(xla::LiteralUtil::Zero(type), sizes_of(bits));
    return select(compare(bits, zero, ComparisonDirection::kLt), binary(HloOpcode::kSubtract, most, bits), bits);
  }

  HloInstruction* op_;
};

}  // namespace

bool is_arg_reduction(const HloInstruction& op) {
  if (op.opcode() != HloOpcode::kReduce || op.operand_count() != 4 || op.dimensions().size() != 1) return false;
  const HloInstruction &values = *op.operand(0), &indices = *op.operand(1), &first = *op.operand(2),
                       &zeroth = *op.operand(3);
  if (!is_float(values.shape()) || ShapeUtil::IsZeroElementArray(values.shape()) ||
      !counts(indices, op.dimensions(0)) || !xla::primitive_util::IsSignedIntegralType(indices.shape().element_type()))
    return false;
  const std::optional<ComparisonDirection> direction = direction_of(*op.to_apply());
  if (!direction || first.opcode() != HloOpcode::kConstant || zeroth.opcode() != HloOpcode::kConstant) return false;
  const xla::PrimitiveType type = values.shape().element_type();
  const xla::Literal worst =
      *direction == ComparisonDirection::kGt ? xla::LiteralUtil::MinValue(type) : xla::LiteralUtil::MaxValue(type);
  return first.literal() == worst && zeroth.literal().IsAll(0);
}

HloInstruction* two_reductions(HloInstruction* op) { return TwoReductions(op).build(); }

}  // namespace hone::xla_side
