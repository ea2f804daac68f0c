// Attention as a kernel of our own (kernels/attention.h): scores, softmax and the product with the values in one custom call.
#pragma once

#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

inline constexpr char kBlocks[] = "blocks";
inline constexpr char kAttentionTarget[] = "hone.attention";  // attribute "plan": AttentionPlan

// Whether a dot multiplies the softmax of another dot's result, scaled, masked or with arrays added, all of f32.
bool is_attention_in_blocks(const xla::HloInstruction& dot);

// Adds the call to the dot's computation and returns what replaces the dot. Throws Error where is_attention_in_blocks is false.
xla::HloInstruction* attention_in_blocks(xla::HloInstruction* dot);

}  // namespace hone::xla_side
