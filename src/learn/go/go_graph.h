// A task graph as the policy's input, and the features of a plan from one simulated step.
#pragma once

#include <torch/types.h>

#include <array>
#include <vector>

#include "learn/go/go_pool.h"
#include "options/go_options.h"
#include "sim/simulator.h"

namespace hone::learn {

inline constexpr int64_t kGoNodeNumbers = 29;   // of an operation, independent of decisions
inline constexpr int64_t kGoStateNumbers = 4;   // of an operation in the simulated step
inline constexpr int64_t kGoDeviceNumbers = 7;  // of a pair of operation and device in the simulated step

// Nodes are in the topological order of the task graph; the policy reads op types, tensor shapes, costs and edges.
struct GoGraph {
  int64_t nodes = 0, devices = 0;
  torch::Tensor opcodes;  // [nodes], int64, below features::kOpcodeCount
  torch::Tensor numbers;  // [nodes, kGoNodeNumbers]
  NeighbourLists producers, users;
  std::array<torch::Tensor, options::kGoTasks> decides;  // [nodes], 1 where the task decides, else 0
  torch::Tensor cost;             // [nodes, devices]: seconds as a kernel of its own, over the longest of the node's
  std::vector<int32_t> urgency;   // [nodes]: rank of the longest path to the end (HEFT's upward rank), 0 = shortest
  std::vector<int32_t> heaviest;  // [nodes]: the non-input producer with the largest result; -1 = none
};
GoGraph make_go_graph(const sim::Simulator& simulator);

// The decisions of the previous step and their simulated outcome.
struct GoState {
  std::array<torch::Tensor, options::kGoTasks> actions;  // [nodes], int64
  torch::Tensor numbers;                                 // [nodes, kGoStateNumbers]
  torch::Tensor device_numbers;                          // [nodes, devices, kGoDeviceNumbers]
  torch::Tensor embedding;                               // [nodes, hidden], the policy's own; undefined at first
};

using GoActions =
    std::array<std::vector<int32_t>, options::kGoTasks>;  // [nodes] each; tasks that are not decided keep the start's

// Decisions as a plan of the simulator. The schedule sorts by level, then by urgency; a list is left empty where
// `plain` is set: then the simulator's default applies.
sim::Plan plan_of(const GoGraph& graph, const GoActions& actions, const options::GoOptions& options,
                  const std::array<bool, options::kGoTasks>& plain);
// Runs the plan once with a trace.
GoState observe(sim::Simulator& simulator, const GoGraph& graph, const GoActions& actions, const sim::Plan& plan);

}  // namespace hone::learn
