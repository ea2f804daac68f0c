// Where the time of a run goes, as XLA's profiler tells it.
#pragma once

#include <string>
#include <vector>

namespace hone::tune {

// One instruction of one run. Loops and calls contain the instructions of their bodies.
struct ProfileSlice {
  std::string name;  // as in the lowered module
  int run = 0, thread = 0;
  double start_ns = 0, duration_ns = 0;  // from the beginning of the first run
};

struct RunProfile {
  int runs = 0;
  double run_ns = 0;                 // the least time of a run without the profiler
  std::vector<ProfileSlice> slices;  // by start; empty where there is no profiler
};

}  // namespace hone::tune
