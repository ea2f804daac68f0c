// The time of each step of a run, measured by XLA's own profiler.
#pragma once
#include <string>
#include <vector>

#include "measure/executable.h"

namespace hone::xla_side {

// One step of a run: a kernel, a library call, a copy. Loops and calls contain the steps of their bodies.
struct ProfileEvent {
  std::string name;  // of the instruction, as in the lowered module
  int run = 0;
  int thread = 0;                        // counted from 0
  double start_ns = 0, duration_ns = 0;  // from the beginning of the first run
};

// Runs `runs` times, warm, with the profiler on; a run takes longer than without it. Empty where this XLA has no profiler.
// Throws RunError when the program cannot run.
std::vector<ProfileEvent> profile_runs(Executable& executable, int runs);

}  // namespace hone::xla_side
