// A program as something to place: its task graph, what XLA itself would fuse, and the way back from a plan to XLA.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "place/place_graph.h"
#include "sim/simulator.h"
#include "tune/session/session.h"

namespace hone::place {

struct PlacedProgram {
  ProgramGraph program;             // after XLA's passes, nothing fused
  std::vector<int32_t> xla_fusion;  // [ops]: 1 for operations XLA fuses by itself; empty where that cannot be seen
  std::vector<std::string> edges;   // "producer>consumer": what XLA's fusion asks about, as Decision::key
  std::map<std::string, std::string> kernels;  // instruction -> fingerprint, of those that are kernels
  std::string hlo;                             // of the module the graph was made of
  Decisions keep_all;                          // under which it was made
};

// Lowers the session's program twice: as XLA does, to learn what it fuses, and with every fusion forbidden. Programs in
// which fusions make new ones possible are lowered until nothing is fused any more, ten times at most.
PlacedProgram place_program(tune::Session& session);

// The decisions that make XLA fuse what the plan's kernels hold and nothing else. Consumers XLA does not ask about are not
// mentioned; where it refuses, an operation stays unfused.
Decisions fusion_decisions(const PlacedProgram& program, const sim::Kernels& kernels);

// [ops], seconds: the time of each operation in runs under XLA's profiler with nothing fused; 0 where it was not seen.
std::vector<double> measured_seconds(tune::Session& session, const PlacedProgram& program, int runs);

// The module's text with `sharding={maximal device=N}` and frontend attributes (hone_schedule, hone_fusion) on every
// instruction of the entry computation that the plan decides about.
std::string annotated_hlo(const PlacedProgram& program, const sim::Plan& plan);

}  // namespace hone::place
