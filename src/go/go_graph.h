// A task graph as the policy's input, and the features of a plan from one simulated step.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "options/go_options.h"
#include "sim/simulator.h"

namespace hone::go {

inline constexpr int64_t kGoNodeNumbers = 29;   // of an operation, independent of decisions
inline constexpr int64_t kGoStateNumbers = 4;   // of an operation in the simulated step
inline constexpr int64_t kGoDeviceNumbers = 7;  // of a pair of operation and device in the simulated step

// Compressed rows: the neighbours of node v are node[begin[v]] .. node[begin[v + 1] - 1].
struct NeighbourLists {
  std::vector<int32_t> begin = {0};  // [nodes + 1]
  std::vector<int32_t> node;
  int64_t nodes() const { return static_cast<int64_t>(begin.size()) - 1; }
};

// Nodes are in the topological order of the task graph; the policy reads op types, tensor shapes, costs and edges.
struct GoGraph {
  int64_t nodes = 0, devices = 0;
  std::vector<int64_t> opcodes;  // [nodes], below features::kOpcodeCount
  std::vector<float> numbers;    // [nodes, kGoNodeNumbers]
  NeighbourLists producers, users;
  std::array<std::vector<float>, options::kGoTasks> decides;  // [nodes], 1 where the task decides, else 0
  std::vector<float> cost;        // [nodes, devices]: seconds as a kernel of its own, over the longest of the node's
  std::vector<int32_t> urgency;   // [nodes]: rank of the longest path to the end (HEFT's upward rank), 0 = shortest
  std::vector<int32_t> heaviest;  // [nodes]: the non-input producer with the largest result; -1 = none
};
GoGraph make_go_graph(const sim::Simulator& simulator);

using GoActions =
    std::array<std::vector<int32_t>, options::kGoTasks>;  // [nodes] each; tasks that are not decided keep the start's

// The decisions of the previous step and their simulated outcome.
struct GoState {
  GoActions actions;
  std::vector<float> numbers;         // [nodes, kGoStateNumbers]
  std::vector<float> device_numbers;  // [nodes, devices, kGoDeviceNumbers]
  std::vector<float> embedding;       // [nodes, hidden], the policy's own; empty at first
};

// Decisions as a plan of the simulator. The schedule sorts by level, then by urgency; a list is left empty where
// `plain` is set: then the simulator's default applies.
sim::Plan plan_of(const GoGraph& graph, const GoActions& actions, const options::GoOptions& options,
                  const std::array<bool, options::kGoTasks>& plain);
// Runs the plan once with a trace.
GoState observe(sim::Simulator& simulator, const GoGraph& graph, const GoActions& actions, const sim::Plan& plan);

}  // namespace hone::go
