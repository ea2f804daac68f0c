// What `hone place --strategy go` takes from the command of the graph policy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "sim/simulator.h"

namespace hone::cli {

struct GoPlaceOptions {
  std::string policy;    // safetensors; empty: the shipped one
  std::string online;    // file of a policy that is trained on while it is used and remembers best plans; empty = none
  int64_t samples = 16;  // variants simulated in every step of an evaluation; 0 = only the policy's own decisions
  int64_t iterations = 0;          // of training on this graph before the answer
  std::vector<std::string> tasks;  // of the policy's, those to be decided; empty = all
  bool finalists = false;          // the answer holds the best plans of different step times, too
  uint64_t seed = 0;
  int threads = 1;
};

// The plan the policy finds; `answer` tells how (rl/go_commands.h, run_go_place). Starts from the best of the quick
// baselines and never returns worse. Throws Error for a policy that does not fit, RunError without the learning library.
sim::Plan plan_with_policy(const sim::TaskGraph& graph, const sim::Topology& topology, const sim::Costs& costs,
                           const std::vector<int32_t>& xla_fusion, const GoPlaceOptions& options,
                           const OutputOptions& output, nlohmann::json* answer = nullptr);
// Throws RunError when there is none.
std::string shipped_go_policy();
std::string topology_presets();

// hone go fuse PROGRAM: the policy's fusion on the real compiler.
void declare_go_fuse(CLI::App& app, const std::shared_ptr<Runner>& chosen);

}  // namespace hone::cli
