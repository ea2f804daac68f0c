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
  int64_t iterations = 0;  // of training on this graph before the answer
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

}  // namespace hone::cli
