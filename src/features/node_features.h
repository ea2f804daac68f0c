// The features of single instructions, row by row of node_features.def.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/hlo_graph.h"

namespace hone::features {

// Properties of nodes that depend on other nodes; computed once per module.
struct NodeSurroundings {
  std::vector<int32_t> users;      // [nodes of the module], distinct
  std::vector<uint8_t> is_output;  // roots, and elements of root tuples
  std::vector<uint8_t> is_fused;   // [computations]: called by a fusion
};
NodeSurroundings surroundings(const HloGraph& graph);

// Writes node_feature_count() values, or only the first `out.size()` of them.
void write_node_features(const HloGraph& graph, const NodeSurroundings& around, int32_t node, std::span<float> out);

}  // namespace hone::features
