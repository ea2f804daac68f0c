// Small layout graphs for tests.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "base/rng.h"
#include "options/config_graph.h"

namespace hone::learn {

// A chain of nodes 0 <- 1 <- 2 ... (each uses the one before) of opcodes dot and reshape in turn; every third node is
// configurable with one of three layouts. The run time is 1000 plus the cost of the chosen layouts per node, in ns.
inline options::ConfigGraph chain_graph(int64_t nodes, int64_t configs, uint64_t seed) {
  Rng rng(seed);
  options::ConfigGraph graph;
  graph.name = "chain" + std::to_string(seed);
  graph.node_feat.assign(nodes * options::kNodeFeatures, 0);
  for (int64_t i = 0; i < nodes; ++i) {
    graph.node_opcode.push_back(i % 2 == 0 ? 34 : 75);
    float* features = &graph.node_feat[i * options::kNodeFeatures];
    for (int f = 2; f < 40; ++f) features[f] = static_cast<float>(rng.below(10));
    features[21] = features[22] = static_cast<float>(1 + i % 4);
    for (int a = 0; a < options::kLayoutAxes; ++a)
      features[options::kNumericFeatures + a] = a < 2 ? static_cast<float>(1 - a) : -1;
    if (i > 0) graph.edges.insert(graph.edges.end(), {static_cast<int32_t>(i), static_cast<int32_t>(i - 1)});
    if (i % 3 == 0) graph.config_nodes.push_back(static_cast<int32_t>(i));
  }
  std::vector<uint64_t> packed;
  for (int64_t c = 0; c < configs; ++c) {
    double ns = 1000;
    for (size_t k = 0; k < graph.config_nodes.size(); ++k) {
      const int64_t choice = rng.below(3);
      options::ConfigAxes axes;
      axes.fill(-1);
      if (choice > 0) axes[0] = static_cast<int8_t>(choice - 1), axes[1] = static_cast<int8_t>(2 - choice);
      packed.push_back(options::pack_axes(axes));
      ns += static_cast<double>(choice * (k % 2 == 0 ? 50 : 7) * static_cast<int64_t>(k + 1));
    }
    graph.runtime_ns.push_back(ns);
  }
  graph.configs = options::PackedConfigs::hold(std::move(packed));
  return graph;
}

// A kernel of a chain of three nodes with tiles of 24 numbers; the run time is least where the first is 8 and the second 4.
inline options::ConfigGraph tile_kernel(int64_t configs, uint64_t seed) {
  Rng rng(seed);
  options::ConfigGraph graph = chain_graph(3, 1, seed);
  graph.name = "kernel" + std::to_string(seed);
  graph.config_nodes.clear();
  graph.configs = {};
  graph.runtime_ns.clear();
  for (int64_t c = 0; c < configs; ++c) {
    std::vector<float> tile(options::kTileFeatures);
    const int64_t first = rng.below(7), second = rng.below(7);  // powers of two
    tile[0] = static_cast<float>(1 << first), tile[1] = static_cast<float>(1 << second);
    tile[6] = tile[0] + tile[1], tile[7] = tile[0] * tile[1];
    graph.tiles.insert(graph.tiles.end(), tile.begin(), tile.end());
    graph.runtime_ns.push_back(static_cast<double>(1000 + 100 * std::abs(first - 3) + 60 * std::abs(second - 2)));
  }
  return graph;
}

}  // namespace hone::learn
