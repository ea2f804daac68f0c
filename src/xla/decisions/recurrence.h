// Recurrent loops, as of LSTM and GRU cells, as a kernel of our own (kernels/recurrence.h): all steps in one custom call.
#pragma once

#include <string>
#include <vector>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

inline constexpr char kOneKernel[] = "one-kernel";
inline constexpr char kRecurrenceTarget[] = "hone.recurrence";  // attribute "plan": RecurrencePlan

// Whether a while loop has a known number of steps, all of dots with matrices that no step changes, element-wise operations of f32,
// and parts of sequences that are read or written.
bool is_recurrence(const xla::HloInstruction& op);

// What loops share that are decided about together: number of steps, state.
std::string recurrence_key(const xla::HloInstruction& op);

// Additions, multiplications and other operations of all steps.
double recurrence_operations(const xla::HloInstruction& op);

// The state after all steps. Dots of what each step reads of a sequence become one dot before the loop. Throws Error where
// is_recurrence is false.
xla::HloInstruction* recurrence_by_kernel(xla::HloInstruction* op);

// Tells all calls whether their matrices are made of weights that were declared constant between calls: parameters of the program.
void finish_recurrences(xla::HloModule& module, const std::vector<int>& weights);

}  // namespace hone::xla_side
