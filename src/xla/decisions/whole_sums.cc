#include "decisions/whole_sums.h"

#include "base/error.h"
#include "decisions/arithmetic.h"
#include "decisions/host_kernels.h"
#include "decisions/reducers.h"
#include "kernels/whole_sum.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;
using xla::ShapeUtil;

constexpr int64_t kLeastSummed = 1 << 16;  // elements: 256 KiB of f32

bool is_in_memory(const HloInstruction* value) {
  while (value->opcode() == HloOpcode::kReshape || value->opcode() == HloOpcode::kBitcast) value = value->operand(0);
  switch (value->opcode()) {
    case HloOpcode::kParameter:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kDot:
    case HloOpcode::kConvolution:
    case HloOpcode::kCustomCall:
    case HloOpcode::kSort:
    case HloOpcode::kFft:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool is_whole_sum(const HloInstruction& op) {
  if (op.opcode() != HloOpcode::kReduce || op.operand_count() != 2 || !op.shape().IsArray() ||
      !op.shape().dimensions().empty() || op.parent()->IsFusionComputation())
    return false;
  const xla::PrimitiveType type = op.shape().element_type();
  return (type == xla::F32 || type == xla::F64) && op.operand(0)->shape().element_type() == type &&
         ShapeUtil::ElementsIn(op.operand(0)->shape()) >= kLeastSummed && adds(*op.to_apply()) &&
         is_zero(op.operand(1)) && is_in_memory(op.operand(0));
}

HloInstruction* sum_by_vectors(HloInstruction* op) {
  if (!is_whole_sum(*op)) throw Error("not the sum of a large array", std::string(op->name()));
  register_host_kernels();
  const xla::Shape& summed = op->operand(0)->shape();
  const WholeSumPlan plan{op->shape().element_type() == xla::F64, ShapeUtil::ElementsIn(summed)};
  return op->parent()->AddInstruction(
      HloInstruction::CreateCustomCall(op->shape(), {op->mutable_operand(0)}, kWholeSumTarget, {in_order(summed)},
                                       plan.text(), xla::CustomCallApiVersion::API_VERSION_STATUS_RETURNING_UNIFIED));
}

}  // namespace hone::xla_side
