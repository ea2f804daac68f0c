// How often the instructions of a lowered module run in one run of the program, and what they read and move.
#pragma once
#include <unordered_map>
#include <vector>

#include "graph/kernel.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

struct InstructionRuns {
  std::unordered_map<const xla::HloInstruction*, double> runs;  // of all computations but fused ones and reducers
  int unknown_loops = 0;  // whose number of steps XLA does not know: their bodies count once

  double of(const xla::HloInstruction& instruction) const;  // 0 for one that never runs by itself
};

// Loops, calls and conditionals: what they do is done by their computations.
bool runs_computations(xla::HloOpcode opcode);

// By the trip counts of loops that XLA knows. Every branch of a conditional counts.
InstructionRuns runs_of(const xla::HloModule& module);

bool is_collective(xla::HloOpcode opcode);

// Read and written by what is neither a kernel nor a collective: copies, sorts, library calls; fewest bytes first.
std::vector<Moved> moved_in(const xla::HloModule& module, const InstructionRuns& runs);
// The same in one run of the program.
double moved_bytes(const xla::HloModule& module, const InstructionRuns& runs);

// Of each operand: whether it is a parameter or a constant of the entry computation, or such a value in another shape. A caller's
// data and a program's weights are; what the program computes is not.
std::vector<bool> operands_from_outside(const xla::HloInstruction& instruction);

// Of the entry computation's parameters, constants and results.
double outside_bytes(const xla::HloModule& module);

}  // namespace hone::xla_side
