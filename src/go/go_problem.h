// Graphs to plan, and their initial plans.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "go/go_graph.h"
#include "options/go_options.h"
#include "sim/simulator.h"

namespace hone::go {

// A graph on a topology, and the best plans known for it.
struct GoProblem {
  std::string name;
  sim::Simulator simulator;
  GoGraph graph;
  std::array<bool, options::kGoTasks> plain;  // tasks left to the simulator's defaults
  GoActions start;                            // what the first step refines: the best of quick baselines
  std::string start_name;
  double start_seconds = 0;  // infinite when none of the quick baselines fits into memory
  double scale_seconds = 0;  // of rewards
  GoActions best;
  double best_seconds = 0;  // infinite until a plan fits into memory
  int64_t simulations = 0;
  std::vector<std::pair<double, GoActions>> finalists;  // the best of different step times, fastest first
};
inline constexpr size_t kGoFinalists = 8;
// `default_fusion`: XLA's own, as priorities; may be empty. `start`: the strategy (sim/strategies.h) whose placement is
// refined, or "best": the best of those that neither search nor are random. If fusion is decided, each runs with
// nothing fused, with XLA's fusion and with priority fusion. `tasks`: those of the policy's tasks to decide; empty =
// all. XLA's defaults apply to the others. Throws Error as Simulator does, and for unknown strategies and tasks.
GoProblem make_go_problem(sim::Simulator simulator, const options::GoOptions& options,
                          const std::vector<int32_t>& default_fusion = {}, const std::string& start = "best",
                          const std::vector<std::string>& tasks = {});
// Step time of decisions, infinite out of memory; keeps the best.
double simulate(GoProblem& problem, const GoActions& actions, const options::GoOptions& options);
sim::Plan plan_of(const GoProblem& problem, const GoActions& actions, const options::GoOptions& options);
// The policy's input after decisions; costs one simulation.
GoState observe(GoProblem& problem, const GoActions& actions, const options::GoOptions& options);

}  // namespace hone::go
