// The time of each step of a run, measured by XLA's own profiler.
#pragma once
#include <string>
#include <vector>

#include "graph/run_slice.h"
#include "measure/executable.h"
#include "measure/measure.h"

namespace hone::xla_side {

// Runs `runs` times, warm, with the profiler on; a run takes longer than without it. A slice is one step of a run: a kernel, a
// library call, a copy. By start; empty where this XLA has no profiler. Throws RunError when the program cannot run.
std::vector<RunSlice> profile_runs(Executable& executable, int runs);

// A duel of two programs with the profiler on.
struct InPlaceDuel {
  DuelResult whole;
  std::vector<DuelResult> kernels;  // in the order asked for; 0 rounds = not seen in every run of both
};
// `kernels`: the names of the instructions that run each, the same in both programs. Both have just run. Not with several
// threads: what a thread waits for would count as its kernel's time.
InPlaceDuel duel_in_place(Executable& baseline, Executable& candidate,
                          const std::vector<std::vector<std::string>>& kernels, DuelOptions options);

}  // namespace hone::xla_side
