// Custom calls by which a program has oneDNN compute an operation and what follows it (kernels/dnnl_operation.h).
#pragma once

#include <vector>

#include "decisions/compile_target.h"
#include "kernels/dnnl_plan.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

inline constexpr char kDnnlTarget[] = "hone.dnnl";  // attribute "plan": DnnlPlan

// Whether the library is there and computes what it should.
bool has_dnnl();

// The array as it lies in memory, its dimensions in another order: sizes and strides of `order`.
DnnlArray dnnl_array(const xla::Shape& shape, const std::vector<int64_t>& order);

// Operands and result have their dimensions in memory as in their shapes.
xla::HloInstruction* dnnl_call(xla::HloComputation* computation, const xla::Shape& result, const DnnlPlan& plan,
                               const std::vector<xla::HloInstruction*>& operands);

// Tells the calls of a program how many threads there are, and which of them have weights that stay as they are from run to run.
void finish_dnnl_calls(xla::HloModule& module, const CompileTarget& target);

// Whether a value of the program depends on constants and these parameters alone.
bool is_made_of(const xla::HloInstruction* value, const std::vector<int>& parameters);

}  // namespace hone::xla_side
