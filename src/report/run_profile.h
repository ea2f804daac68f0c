// The time of a run by instruction, from XLA's profiler.
#pragma once

#include <string>
#include <vector>

#include "graph/decision.h"
#include "graph/hlo_graph.h"

namespace hone::tune {
class Session;
}

namespace hone::report {

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

// Runs the program `runs` times without the profiler and with it. Throws what the session throws.
RunProfile profile_runs(tune::Session& session, const Decisions& decisions, int runs);

// The time of a run spent in instructions of one opcode.
struct TimeShare {
  std::string
      opcode;  // XLA's own text; "fusion of a library" for one that a library computes; "other" for unknown names
  int instructions = 0;
  double ns = 0;  // mean per run, without the instructions inside these
  bool library =
      false;  // computed by a library (dots, convolutions, ...): XLA generates no code, tiles or fusion for it
};

// Most time first. `lowered`: the module that ran.
std::vector<TimeShare> time_by_opcode(const RunProfile& profile, const HloGraph& lowered);

}  // namespace hone::report
