// Arrays of which all elements are one constant.
#pragma once

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace hone::xla_side {

// The constant behind broadcasts and reshapes; null where there is none, or one of several elements.
inline const xla::HloInstruction* splat_of(const xla::HloInstruction* value) {
  while (value->opcode() == xla::HloOpcode::kBroadcast || value->opcode() == xla::HloOpcode::kReshape)
    value = value->operand(0);
  const bool one = value->opcode() == xla::HloOpcode::kConstant && xla::ShapeUtil::IsEffectiveScalar(value->shape());
  return one ? value : nullptr;
}

}  // namespace hone::xla_side
