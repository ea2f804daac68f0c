// Work in phases, each of which needs all of the earlier ones, shared by threads that may come late or never.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/for_each.h"

namespace hone {

struct PhasedWork {
  int64_t first = 0;            // units of what comes before all rounds
  std::vector<int64_t> phases;  // units of each phase of a round, each more than 0
  int64_t rounds = 0;
  // Computes one unit; phase -1 comes before all rounds. `worker`: less than the number of threads, no two at the same time. Throws
  // nothing.
  std::function<void(int64_t round, int64_t phase, int64_t unit, int worker)> compute;
};

// Runs all units, each once. Threads take units that nobody has begun, so that those which have come end all work; they wait only for
// units that another thread is computing.
void run_in_phases(const PhasedWork& work, int threads, const ForEach& for_each);

}  // namespace hone
