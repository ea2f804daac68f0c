// How long the body of a loop takes on a core, after the manner of llvm-mca: the busiest of its pipes, and the latencies of what one
// run hands to the next (throughputs and latencies of x86_kinds.def).
#pragma once

#include <span>

#include "features/x86.h"

namespace hone::features {

struct BodyCycles {
  double front = 0;               // decoding
  double pipes = 0;               // the busiest
  double loads = 0, divides = 0;  // of single pipes
  double chain = 0;               // from run to run
  double in_all() const;
};
struct BodyInstruction {
  const Instruction* instruction = nullptr;
  double share = 1;  // of the runs that go through it
};
// `body`: without the instructions of loops inside. `repeats`: it is a loop's.
BodyCycles body_cycles(std::span<const BodyInstruction> body, bool repeats);

}  // namespace hone::features
