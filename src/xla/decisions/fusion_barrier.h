// Values that rewrites want computed once: their consumers read them many times, and a fusion would compute them each time.
#pragma once

#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

inline constexpr char kBarrierAttribute[] = "hone_barrier";  // a frontend attribute, "1"

inline xla::HloInstruction* with_barrier(xla::HloInstruction* value) {
  value->set_frontend_attribute(kBarrierAttribute, "1");
  return value;
}

// Whether nothing may be fused with this producer.
inline bool has_barrier(const xla::HloInstruction& producer) {
  const xla::HloInstruction& root =
      producer.opcode() == xla::HloOpcode::kFusion ? *producer.fused_expression_root() : producer;
  return root.has_frontend_attributes() && root.frontend_attributes().map().contains(kBarrierAttribute);
}

}  // namespace hone::xla_side
