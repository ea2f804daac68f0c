// Random inputs of graph policies, without a simulator.
#pragma once

#include <torch/nn.h>

#include <algorithm>

#include "base/rng.h"
#include "go/go_graph.h"

namespace hone::go_toys {

inline std::vector<float> random_numbers(int64_t count, Rng& rng) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<float>(3.4 * rng.uniform() - 1.7));
  return numbers;
}

// Random numbers and edges on three devices.
inline go::GoGraph random_graph(int64_t nodes, uint64_t seed) {
  Rng rng(seed);
  go::GoGraph graph;
  graph.nodes = nodes;
  graph.devices = 3;
  for (int64_t v = 0; v < nodes; ++v) graph.opcodes.push_back(static_cast<int64_t>(rng.below(100)));
  graph.numbers = random_numbers(nodes * go::kGoNodeNumbers, rng);
  for (auto& mask : graph.decides) mask.assign(nodes, 1);
  std::vector<std::vector<int32_t>> users(nodes);
  for (int32_t v = 0; v < nodes; ++v) {
    for (int i = 0; v > 0 && i < 2; ++i) {
      const auto u = static_cast<int32_t>(rng.below(v));
      graph.producers.node.push_back(u);
      users[u].push_back(v);
    }
    graph.producers.begin.push_back(static_cast<int32_t>(graph.producers.node.size()));
  }
  for (const auto& list : users) {
    graph.users.node.insert(graph.users.node.end(), list.begin(), list.end());
    graph.users.begin.push_back(static_cast<int32_t>(graph.users.node.size()));
  }
  return graph;
}

inline go::GoState random_state(const go::GoGraph& graph, const options::GoOptions& options, uint64_t seed = 1) {
  Rng rng(seed);
  go::GoState state;
  for (const options::GoTask task : options.task_list())
    for (int64_t v = 0; v < graph.nodes; ++v)
      state.actions[static_cast<int>(task)].push_back(
          static_cast<int32_t>(rng.below(std::min<int64_t>(options.actions(task), graph.devices))));
  state.numbers = random_numbers(graph.nodes * go::kGoStateNumbers, rng);
  state.device_numbers = random_numbers(graph.nodes * graph.devices * go::kGoDeviceNumbers, rng);
  state.embedding = random_numbers(graph.nodes * options.hidden, rng);
  return state;
}

// Perturbs the initial weights, so that no zero disables a part of the network.
inline void shake(torch::nn::Module& module, uint64_t seed, double size = 0.2) {
  const torch::NoGradGuard no_gradient;
  torch::manual_seed(seed);
  for (auto& parameter : module.parameters()) parameter.add_(size * torch::randn_like(parameter));
}

}  // namespace hone::go_toys
