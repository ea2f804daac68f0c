#include "decisions/precision.h"

#include "decisions/arithmetic.h"
#include "status.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/service/call_inliner.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;
using xla::ShapeUtil;

bool is_f32(const HloInstruction& value) { return value.shape().IsArray() && value.shape().element_type() == xla::F32; }

bool only_moves(const HloInstruction& op) {
  return op.opcode() == HloOpcode::kReshape || op.opcode() == HloOpcode::kTranspose || op.opcode() == HloOpcode::kCopy;
}

bool only_selects(const HloInstruction& op, const HloInstruction* value) {
  const bool selects =
      op.opcode() == HloOpcode::kGather || op.opcode() == HloOpcode::kSlice || op.opcode() == HloOpcode::kDynamicSlice;
  return selects && op.operand(0) == value;
}

bool multiplies(const HloInstruction& op) {
  return op.opcode() == HloOpcode::kDot && is_f32(op) && is_f32(*op.operand(0)) && is_f32(*op.operand(1)) &&
         op.operand(0) != op.operand(1);
}

// How many dots read a value, by way of moves; -1 where something else does.
int dots_of(const HloInstruction& value) {
  if (&value == value.parent()->root_instruction()) return -1;
  int dots = 0;
  for (const HloInstruction* user : value.users()) {
    if (multiplies(*user)) {
      ++dots;
    } else if (only_moves(*user)) {
      const int behind = dots_of(*user);
      if (behind < 0) return -1;
      dots += behind;
    } else if (!only_selects(*user, &value)) {
      return -1;
    }
  }
  return dots;
}

// Gives the readers of one weight what is stored now.
class Rounding : Arithmetic {
 public:
  explicit Rounding(xla::HloComputation* entry) : Arithmetic(entry) {}

  // `now`: the same values as `before`, in bf16.
  void replace(HloInstruction* before, HloInstruction* now) {
    const std::vector<HloInstruction*> users(before->users().begin(), before->users().end());
    for (HloInstruction* user : users) {
      const xla::Shape narrow = ShapeUtil::ChangeElementType(user->shape(), xla::BF16);
      if (multiplies(*user)) {
        std::vector<HloInstruction*> operands(user->operands().begin(), user->operands().end());
        for (HloInstruction*& operand : operands) operand = operand == before ? now : as_type(operand, xla::BF16);
        check(user->ReplaceAllUsesWith(add(user->CloneWithNewOperands(user->shape(), operands))), "precision");
        continue;
      }
      std::vector<HloInstruction*> operands(user->operands().begin(), user->operands().end());
      operands[0] = now;
      HloInstruction* moved = add(user->CloneWithNewOperands(narrow, operands));
      if (only_moves(*user))
        replace(user, moved);
      else
        check(user->ReplaceAllUsesWith(as_type(moved, xla::F32)), "precision");
    }
  }
};

}  // namespace

HloInstruction* weight_parameter(const xla::HloComputation& entry, int number) {
  if (number < 0 || number >= entry.num_parameters())
    throw Error("parameter " + std::to_string(number) + " does not exist", "--weights");
  return entry.parameter_instruction(number);
}

RetypedParameter retype_parameter(xla::HloComputation& entry, int number, xla::PrimitiveType type) {
  HloInstruction* former = entry.parameter_instruction(number);
  const std::string name(former->name());
  const xla::Shape shape = ShapeUtil::ChangeElementType(former->shape(), type);
  HloInstruction* stand_in = entry.AddInstruction(HloInstruction::CreateIota(former->shape(), 0));
  check(former->ReplaceAllUsesWith(stand_in), "precision");
  return {stand_in, entry.ReplaceParameter(number, HloInstruction::CreateParameter(number, shape, name))};
}

LoweredPrecision lower_precision(xla::HloModule& module, const std::vector<int>& weights) {
  check(xla::CallInliner().Run(&module).status(), "precision");
  xla::HloComputation& entry = *module.entry_computation();
  LoweredPrecision lowered;
  for (const int number : weights) {
    const HloInstruction* weight = weight_parameter(entry, number);
    const int dots = is_f32(*weight) ? dots_of(*weight) : -1;
    if (dots <= 0) continue;
    const RetypedParameter retyped = retype_parameter(entry, number, xla::BF16);
    Rounding(&entry).replace(retyped.stand_in, retyped.parameter);
    lowered.weights.push_back(number);
    lowered.dots += dots;
  }
  if (lowered.weights.empty())
    throw Error("no declared weight of f32 is read by dots alone", "--precision",
                "name weights of dots with --weights");
  check(xla::HloDCE().Run(&module).status(), "precision");
  module.mutable_config().SetComputationLayoutIfExists(entry.ComputeProgramShape());
  *module.mutable_entry_computation_layout() = xla::ComputationLayout(entry.ComputeProgramShape());
  return lowered;
}

}  // namespace hone::xla_side
