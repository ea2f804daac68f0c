#include "decisions/sorts.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "decisions/host_kernels.h"
#include "kernels/highway_sort.h"
#include "kernels/sort.h"
#include "status.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::ComparisonDirection;
using xla::HloInstruction;
using xla::HloOpcode;
using xla::ShapeUtil;

std::optional<SortKey> key_of(xla::PrimitiveType type) {
  switch (type) {
    case xla::S32:
      return SortKey::Signed;
    case xla::U32:
      return SortKey::Unsigned;
    case xla::F32:
      return SortKey::Float;
    case xla::BF16:
      return SortKey::BFloat;
    case xla::F16:
      return SortKey::Half;
    default:
      return {};
  }
}

// What a comparator makes of an operand before it compares.
struct Compared {
  const HloInstruction* parameter = nullptr;
  bool zeros_equal = false, nans_equal = false;

  bool same_way(const Compared& other) const {
    return zeros_equal == other.zeros_equal && nans_equal == other.nans_equal;
  }
};

bool is_constant(const HloInstruction& op) {
  return op.opcode() == HloOpcode::kConstant && ShapeUtil::IsScalar(op.shape());
}

// Of select(x == 0, 0, x) within select(x != x, a NaN, ...), as JAX writes it, either of them, or x alone.
std::optional<Compared> compared(const HloInstruction* value) {
  Compared found;
  std::vector<const HloInstruction*> tested;
  while (value->opcode() == HloOpcode::kSelect) {
    const HloInstruction &test = *value->operand(0), &constant = *value->operand(1);
    if (test.opcode() != HloOpcode::kCompare || !is_constant(constant)) return {};
    const HloInstruction &left = *test.operand(0), &right = *test.operand(1);
    const bool nan = test.comparison_direction() == ComparisonDirection::kNe && &left == &right;
    const bool zero = test.comparison_direction() == ComparisonDirection::kEq && is_constant(right);
    if (nan) {
      // All below the sign: the one number that is not equal to itself.
      const auto number = constant.literal().GetAsDouble({});
      if (!number || *number == *number || constant.literal().IsAllFloat(0)) return {};
      found.nans_equal = true;
    } else if (zero && constant.literal().IsAll(0) && right.literal().IsAll(0)) {
      found.zeros_equal = true;
    } else {
      return {};
    }
    tested.push_back(&left);
    value = value->operand(2);
  }
  if (value->opcode() != HloOpcode::kParameter) return {};
  if (std::any_of(tested.begin(), tested.end(), [&](const auto* x) { return x != value; })) return {};
  found.parameter = value;
  return found;
}

// Rows and their length are set where the last dimension is sorted over; empty where something else is compared.
std::optional<SortPlan> sort_plan_of(const HloInstruction& op) {
  const HloInstruction& root = *op.to_apply()->root_instruction();
  if (root.opcode() != HloOpcode::kCompare) return {};
  const bool greater = root.comparison_direction() == ComparisonDirection::kGt;
  if (!greater && root.comparison_direction() != ComparisonDirection::kLt) return {};
  const auto left = compared(root.operand(0)), right = compared(root.operand(1));
  if (!left || !right || !left->same_way(*right)) return {};
  const int64_t a = left->parameter->parameter_number(), b = right->parameter->parameter_number();
  if (a / 2 != b / 2 || a == b) return {};
  const auto key = key_of(left->parameter->shape().element_type());
  if (!key) return {};
  SortPlan plan;
  plan.key = *key;
  plan.key_array = static_cast<int>(a / 2);
  plan.descending = greater != (a > b);
  const bool integers = *key == SortKey::Signed || *key == SortKey::Unsigned;
  // A comparison without a total order finds both zeros equal; it says nothing about what is no number.
  const bool total = xla::Cast<xla::HloCompareInstruction>(&root)->order() == xla::ComparisonOrder::kTotal;
  plan.zeros_equal = !integers && (left->zeros_equal || !total);
  plan.nans_equal = !integers && (left->nans_equal || !total);
  for (const HloInstruction* operand : op.operands())
    plan.bytes.push_back(static_cast<int>(ShapeUtil::ByteSizeOfPrimitiveType(operand->shape().element_type())));
  return plan;
}

bool can_move(const HloInstruction& operand) {
  const int64_t bytes = ShapeUtil::ByteSizeOfPrimitiveType(operand.shape().element_type());
  return operand.shape().IsArray() && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) &&
         !xla::primitive_util::IsSubByteNonPredType(operand.shape().element_type());
}

// With the dimension that is sorted over last.
xla::Shape rows_shape(const xla::Shape& shape, int64_t dimension) {
  std::vector<int64_t> minor_to_major = {dimension};
  for (int64_t d = static_cast<int64_t>(shape.dimensions().size()) - 1; d >= 0; --d)
    if (d != dimension) minor_to_major.push_back(d);
  return ShapeUtil::MakeShapeWithDenseLayout(shape.element_type(), shape.dimensions(), minor_to_major);
}

}  // namespace

bool is_plain_sort(const HloInstruction& op) {
  if (op.opcode() != HloOpcode::kSort || ShapeUtil::IsZeroElementArray(op.operand(0)->shape()) ||
      op.parent()->IsFusionComputation())
    return false;
  const auto& operands = op.operands();
  const bool movable = std::all_of(operands.begin(), operands.end(), [](const auto* o) { return can_move(*o); });
  const int64_t length = op.operand(0)->shape().dimensions(op.dimensions(0));
  return movable && length > 1 && length < (int64_t{1} << 32) && sort_plan_of(op).has_value() && has_highway_sort();
}

std::string sort_key(const HloInstruction& op) {
  std::string key;
  for (const HloInstruction* operand : op.operands())
    absl::StrAppend(&key, key.empty() ? "" : "*", ShapeUtil::HumanString(operand->shape()));
  const std::optional<SortPlan> plan = sort_plan_of(op);
  return absl::StrCat(key, ":dimension ", op.dimensions(0), " by ", plan->key_array,
                      plan->descending ? ", descending" : "", plan->zeros_equal ? "" : ", total order");
}

HloInstruction* highway_sorted(HloInstruction* op) {
  std::optional<SortPlan> plan = is_plain_sort(*op) ? sort_plan_of(*op) : std::nullopt;
  if (!plan) throw Error("not a sort for Highway", std::string(op->name()));
  const int64_t dimension = op->dimensions(0);
  plan->length = op->operand(0)->shape().dimensions(dimension);
  plan->rows = ShapeUtil::ElementsIn(op->operand(0)->shape()) / plan->length;
  std::vector<xla::Shape> shapes;
  for (const HloInstruction* operand : op->operands()) shapes.push_back(rows_shape(operand->shape(), dimension));
  const xla::Shape result = op->shape().IsTuple() ? ShapeUtil::MakeTupleShape(shapes) : shapes[0];
  register_host_kernels();
  return op->parent()->AddInstruction(
      HloInstruction::CreateCustomCall(result, op->operands(), kSortTarget, shapes, plan->text(),
                                       xla::CustomCallApiVersion::API_VERSION_STATUS_RETURNING_UNIFIED));
}

}  // namespace hone::xla_side
