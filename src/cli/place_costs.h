// The source of the simulator's times for a program's operations, for hone place and hone go fuse.
#pragma once

#include <string>

#include "cli/cli.h"
#include "place/place_program.h"
#include "sim/simulator.h"

namespace hone::cli {

struct CostSource {
  std::string kind = "roofline";  // or predicted, or measured on this CPU by XLA's profiler
  std::string weights;            // of hone train fusion, for predicted; empty: the shipped ones for the kernels of
  std::string models;             // place_kernels(), of this folder if it is given, else the analytical model
  int threads = 1;                // of that model
};
void add_cost_options(CLI::App& app, std::string& kind, std::string& weights);

// Where devices are threads of this CPU (sim::HostThreads): with the speed of a core that was measured here (base/machine_speed.h) in
// place of the file's, in its proportions. Else the topology as it is.
sim::Topology measured_devices(sim::Topology topology, const std::string& max_isa);

// Factors on the roofline of the first device. `session` is null for a task graph, which has no kernels to time: then
// any kind but roofline throws Error. Throws RunError when no operation's time is known.
sim::Costs operation_costs(const CostSource& source, tune::Session* session, const place::PlacedProgram& placed,
                           const sim::Topology& topology);

}  // namespace hone::cli
