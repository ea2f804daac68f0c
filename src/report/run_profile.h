// Where the time of a run goes, as XLA's profiler tells it.
#pragma once

#include <string>
#include <vector>

#include "graph/decision.h"
#include "graph/hlo_graph.h"
#include "graph/run_slice.h"

namespace hone::tune {
class Session;
}

namespace hone::report {

struct RunProfile {
  int runs = 0;
  double run_ns = 0;             // the least time of a run without the profiler
  std::vector<RunSlice> slices;  // by start; empty where there is no profiler
};

// So many runs without the profiler and with it. Throws what the session throws.
RunProfile profile_runs(tune::Session& session, const Decisions& decisions, int runs);

// What instructions of one opcode take of a run.
struct TimeShare {
  std::string
      opcode;  // XLA's own text; "fusion of a library" for one that a library computes; "other" for unknown names
  int instructions = 0;
  double ns = 0;  // of one run: the mean; of an instruction without those inside it
  bool library =
      false;  // computed by a library (dots, convolutions, ...): no code that XLA generates, no tiles, no fusion
};

// Most time first. `lowered`: the module that ran.
std::vector<TimeShare> time_by_opcode(const RunProfile& profile, const HloGraph& lowered);

}  // namespace hone::report
