// A program to place: its task graph, XLA's own fusion, and the conversion of a plan to XLA's decisions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "place/place_graph.h"
#include "sim/simulator.h"
#include "tune/session/session.h"

namespace hone::place {

// What default XLA lowers a program to, with everything that models of run times read.
struct CompiledProgram {
  HloGraph module;
  std::map<std::string, int64_t> trip_counts;  // of loops whose number of steps XLA knows
  std::vector<Kernel> kernels;
};

struct PlacedProgram {
  ProgramGraph program;                     // after XLA's passes; nothing fused, or of place_kernels() XLA's kernels
  std::optional<CompiledProgram> compiled;  // of place_kernels()
  std::vector<int32_t> xla_fusion;          // [ops]: 1 for operations that default XLA fuses; empty if unknown
  std::vector<std::string> edges;           // "producer>consumer": the edges XLA's fusion considers, as Decision::key
  std::map<std::string, std::string> kernels;  // instruction -> fingerprint, of those that are kernels
  std::string hlo;                             // of the module that the graph was built from
  Decisions keep_all;                          // the decisions it was lowered under
};

// Lowers the session's program as default XLA does, to learn what it fuses, and with every fusion forbidden. If
// forbidding edges reveals new ones, this is repeated until nothing is fused, at most ten times.
PlacedProgram place_program(tune::Session& session);

// The program as default XLA compiles it, as host devices run it: an operation is a kernel, and none can be fused. An operation has the name
// of its instruction.
PlacedProgram place_kernels(tune::Session& session);

// [ops]: the sums of the kernels' seconds, by instruction of the lowered program, of which loops run theirs again and again. 0 for what is
// no kernel; inside loops that counts by the bytes it writes, at sim::kHostBytesMoved a second.
std::vector<double> seconds_of_kernels(const PlacedProgram& program, const std::map<std::string, double>& seconds);

// The decisions that make XLA fuse exactly the plan's kernels. There are none about edges that XLA does not consider;
// an operation stays unfused where XLA refuses.
Decisions fusion_decisions(const PlacedProgram& program, const sim::Kernels& kernels);

// [ops], seconds: the time of each operation in runs under XLA's profiler with nothing fused; 0 where it was not seen.
std::vector<double> measured_seconds(tune::Session& session, const PlacedProgram& program, int runs);

// The module's text with frontend attributes (hone_device, hone_schedule, hone_fusion), which XLA does not read, on every
// instruction of the entry computation that the plan decides about.
std::string annotated_hlo(const PlacedProgram& program, const sim::Plan& plan);

}  // namespace hone::place
