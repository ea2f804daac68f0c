// What sums are reductions of.
#pragma once

#include "decisions/splat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace hone::xla_side {

inline bool is_zero(const xla::HloInstruction* value) {
  const xla::HloInstruction* constant = splat_of(value);
  return constant != nullptr && constant->literal().IsAll(0);
}

// Whether it adds its two parameters.
inline bool adds(const xla::HloComputation& reducer) {
  const xla::HloInstruction& root = *reducer.root_instruction();
  return root.opcode() == xla::HloOpcode::kAdd && reducer.num_parameters() == 2 &&
         root.operand(0)->opcode() == xla::HloOpcode::kParameter &&
         root.operand(1)->opcode() == xla::HloOpcode::kParameter && root.operand(0) != root.operand(1);
}

}  // namespace hone::xla_side
