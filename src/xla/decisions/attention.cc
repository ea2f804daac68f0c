#include "decisions/attention.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "decisions/arithmetic.h"
#include "decisions/dot_roles.h"
#include "decisions/softmax_scores.h"
#include "decisions/splat.h"
#include "decisions/window_slices.h"
#include "status.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;
using xla::ShapeUtil;

constexpr int kMostScalingSteps = 6;  // from the exponential back to what is scaled

// Whether all elements along a dimension are the same, by the instructions that spread them.
bool same_along(HloInstruction* value, int64_t dimension) {
  TracedValue at = traced(itself(value));
  while (at.value->opcode() == HloOpcode::kConvert) {  // also to another type, which a trace stops at
    at.value = at.value->mutable_operand(0);
    at = traced(std::move(at));
  }
  const int64_t from = at.dimensions[dimension];
  return from < 0 || at.value->shape().dimensions(from) == 1;
}

// A dot's result times or by a constant, from which these values are made by adding, subtracting or selecting.
HloInstruction* scaled_dot(HloInstruction* value, int steps) {
  if (steps == 0) return nullptr;
  switch (value->opcode()) {
    case HloOpcode::kMultiply:
    case HloOpcode::kDivide:
      return value->operand(0)->opcode() == HloOpcode::kDot && splat_of(value->operand(1)) != nullptr &&
                     value->operand(0)->user_count() == 1
                 ? value
                 : nullptr;
    case HloOpcode::kSubtract:
    case HloOpcode::kExp:
      return scaled_dot(value->mutable_operand(0), steps - 1);
    case HloOpcode::kAdd:
    case HloOpcode::kSelect:
      for (HloInstruction* operand : value->operands())
        if (HloInstruction* found = scaled_dot(operand, steps - 1)) return found;
      return nullptr;
    default:
      return nullptr;
  }
}

class LateDivision : Arithmetic {
 public:
  explicit LateDivision(HloInstruction* dot) : Arithmetic(dot->parent()), dot_(dot) {}

  HloInstruction* build() {
    HloInstruction* quotient = dot_->mutable_operand(0);
    HloInstruction *dividend = quotient->mutable_operand(0), *divisor = quotient->mutable_operand(1);
    if (HloInstruction* scaled = scaled_dot(dividend, kMostScalingSteps)) scale_before(scaled);
    HloInstruction* product = add(dot_->CloneWithNewOperands(dot_->shape(), {dividend, dot_->mutable_operand(1)}));
    return binary(HloOpcode::kDivide, product, spread(divisor));
  }

 private:
  // The divisor of each row, over the dimensions of the result.
  HloInstruction* spread(HloInstruction* divisor) {
    const DotRoles l = left_roles(*dot_);
    const Sizes zeros(divisor->shape().dimensions().size(), 0), ones(zeros.size(), 1);
    Sizes end = sizes_of(divisor), rows;
    for (const int64_t d : l.contracting) end[d] = 1;
    HloInstruction* first = sliced(divisor, zeros, end, ones);
    const Sizes order = joined(l.batch, l.free, l.contracting);
    for (const int64_t d : joined(l.batch, l.free, {})) rows.push_back(end[d]);
    HloInstruction* by_row = reshaped(transposed(first, order), rows);
    Sizes at(rows.size());  // a dot's result begins with the batch and the left operand's rows
    std::iota(at.begin(), at.end(), 0);
    return add(HloInstruction::CreateBroadcast(dot_->shape(), by_row, at));
  }

  void scale_before(HloInstruction* scaled) {
    HloInstruction *dot = scaled->mutable_operand(0), *left = dot->mutable_operand(0);
    if (ShapeUtil::ElementsIn(left->shape()) >= ShapeUtil::ElementsIn(dot->shape())) return;
    if (left->shape().element_type() != dot->shape().element_type()) return;
    HloInstruction* factor = scaled->mutable_operand(1);
    while (!ShapeUtil::IsScalar(factor->shape())) {
      HloInstruction* inner = factor->opcode() == HloOpcode::kConstant ? nullptr : factor->mutable_operand(0);
      factor = inner ? inner : add(HloInstruction::CreateReshape(shape_like(factor, {}), factor));
    }
    HloInstruction* factors = add(HloInstruction::CreateBroadcast(left->shape(), factor, {}));
    HloInstruction* small = binary(scaled->opcode(), left, factors);
    HloInstruction* again = add(dot->CloneWithNewOperands(dot->shape(), {small, dot->mutable_operand(1)}));
    check(scaled->ReplaceAllUsesWith(again), "scaling before a dot");
  }

  HloInstruction* dot_;
};

}  // namespace

bool is_attention(const HloInstruction& op) {
  if (op.opcode() != HloOpcode::kDot || op.parent()->IsFusionComputation() || !has_elements(op)) return false;
  const HloInstruction& quotient = *op.operand(0);
  if (quotient.opcode() != HloOpcode::kDivide || !is_float(op.shape()) ||
      quotient.shape().element_type() != op.shape().element_type() ||
      ShapeUtil::ElementsIn(quotient.shape()) <= ShapeUtil::ElementsIn(op.shape()) ||
      splat_of(quotient.operand(1)) != nullptr)
    return false;
  auto* divisor = const_cast<HloInstruction*>(quotient.operand(1));
  const auto& contracted = op.dot_dimension_numbers().lhs_contracting_dimensions();
  return !contracted.empty() &&
         std::all_of(contracted.begin(), contracted.end(), [&](int64_t d) { return same_along(divisor, d); });
}

std::string attention_key(const HloInstruction& op) {
  return absl::StrCat(ShapeUtil::HumanString(op.operand(0)->shape()), "*",
                      ShapeUtil::HumanString(op.operand(1)->shape()));
}

HloInstruction* late_division(HloInstruction* op) {
  if (!is_attention(*op)) throw Error("not a dot of quotients", std::string(op->name()));
  return LateDivision(op).build();
}

}  // namespace hone::xla_side
