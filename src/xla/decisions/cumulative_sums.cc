#include "decisions/cumulative_sums.h"

#include <optional>

#include "decisions/arithmetic.h"
#include "decisions/host_kernels.h"
#include "decisions/reducers.h"
#include "kernels/cumulative_sum.h"
#include "status.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/window_util.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;
using xla::ShapeUtil;

constexpr int64_t kLeastLength = 8;

std::optional<SumType> type_of(xla::PrimitiveType type) {
  switch (type) {
    case xla::F32:
      return SumType::F32;
    case xla::F64:
      return SumType::F64;
    case xla::S32:
    case xla::U32:
      return SumType::S32;
    default:
      return {};
  }
}

std::optional<CumulativePlan> sum_plan_of(const HloInstruction& op) {
  if (op.opcode() != HloOpcode::kReduceWindow || op.operand_count() != 2 || !op.shape().IsArray() ||
      op.parent()->IsFusionComputation() || ShapeUtil::IsZeroElementArray(op.shape()))
    return {};
  const auto type = type_of(op.shape().element_type());
  if (!type || !adds(*op.to_apply()) || !is_zero(op.operand(1))) return {};
  const auto& sizes = op.operand(0)->shape().dimensions();
  CumulativePlan plan;
  plan.type = *type;
  plan.outer = plan.inner = 1;
  bool found = false;
  for (int d = 0; d < op.window().dimensions_size(); ++d) {
    const xla::WindowDimension& w = op.window().dimensions(d);
    if (xla::window_util::IsTrivialWindowDimension(w)) {
      (found ? plan.inner : plan.outer) *= sizes[d];
      continue;
    }
    const int64_t before = w.padding_low(), after = w.padding_high(), others = sizes[d] - 1;
    const bool forwards = before == others && after == 0, backwards = before == 0 && after == others;
    if (found || w.size() != sizes[d] || w.stride() != 1 || w.base_dilation() != 1 || w.window_dilation() != 1 ||
        !(forwards || backwards))
      return {};
    found = true;
    plan.from_end = backwards;
    plan.length = sizes[d];
  }
  return found && plan.length >= kLeastLength ? std::optional(plan) : std::nullopt;
}

}  // namespace

bool is_cumulative_sum(const HloInstruction& op) { return sum_plan_of(op).has_value(); }

HloInstruction* one_pass_sum(HloInstruction* op) {
  const std::optional<CumulativePlan> plan = sum_plan_of(*op);
  if (!plan) throw Error("not a cumulative sum", std::string(op->name()));
  register_host_kernels();
  return op->parent()->AddInstruction(HloInstruction::CreateCustomCall(
      in_order(op->shape()), {op->mutable_operand(0)}, kCumulativeSumTarget, {in_order(op->operand(0)->shape())},
      plan->text(), xla::CustomCallApiVersion::API_VERSION_STATUS_RETURNING_UNIFIED));
}

}  // namespace hone::xla_side
