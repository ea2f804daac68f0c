// What a program does to each element of a result and to nothing else: steps that a library takes while it writes the result.
#pragma once

#include <vector>

#include "kernels/dnnl_plan.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

struct Epilogue {
  std::vector<PostOp> steps;
  std::vector<xla::HloInstruction*>
      operands;                         // of the steps that have one: a vector of channels, or an array like the result
  xla::HloInstruction* last = nullptr;  // what the steps end with: the result itself where there are none
};

// The steps that follow a result of f32 with channels in this dimension, each the only use of what comes before. May add
// instructions that bring operands into shape. `through_reshapes`: also behind reshapes that keep the channels innermost, so that an
// operand may have other dimensions than the result.
Epilogue epilogue_of(xla::HloInstruction* result, int64_t channels, bool through_reshapes = false);

// Puts a value in the place of the last step, if there is one: afterwards only `result` itself is left to be replaced.
void replace_steps(const xla::HloInstruction* result, const Epilogue& steps, xla::HloInstruction* value);

}  // namespace hone::xla_side
