// A layout graph as tensors. A node whose layouts are equal in many configurations is one row: rows are embedded once, and
// an index says which rows a configuration consists of.
#pragma once

#include <torch/types.h>

#include <span>
#include <unordered_map>
#include <vector>

#include "options/config_graph.h"

namespace hone::learn {

// Zero mean and unit deviation of the first 134 node features (section 2.2.5), fitted on the training graphs. Constant
// columns are not divided; scaled values are clipped to +-10, so that programs of unusual sizes do not dominate.
struct NodeScale {
  std::vector<float> mean, deviation;  // [134]
  static NodeScale fit(std::span<const options::ConfigGraph> graphs);
  bool operator==(const NodeScale&) const = default;
};

// What a node receives from its neighbours: the sum of its operands and users (equation 2); the mean of its users, as
// in the published code; the symmetrically normalised sum of itself, operands and users (Kipf and Welling 2017,
// equation 2); or nothing.
enum class Neighbourhood { Sum, MeanOfUsers, Symmetric, None };

// Weighted neighbours in compressed rows.
struct WeightedEdges {
  std::vector<int32_t> begin, node;
  std::vector<float> weight;
};
struct LayoutAdjacency {
  WeightedEdges in, back;  // back: the transpose, for gradients
  LayoutAdjacency() = default;
  LayoutAdjacency(const options::ConfigGraph& graph, Neighbourhood rule);
};

struct LayoutInputs {
  LayoutInputs(options::ConfigGraph graph, const NodeScale& scale, Neighbourhood rule);
  options::ConfigGraph graph;
  torch::Tensor numeric;    // [nodes, 134], scaled
  torch::Tensor opcode;     // [nodes], int64
  torch::Tensor layout;     // [nodes, 6], int64: axis + 1
  torch::Tensor log_size;   // [nodes], log(1 + elements of the output) / 10
  torch::Tensor is_config;  // [nodes], 1 or 0
  torch::Tensor tiles;      // [configurations, 24], log(1 + value) / 4; undefined for layouts
  LayoutAdjacency adjacency;
};

// The distinct (node, layouts) pairs of the configurations seen so far; nodes with the same features are one. For tiles the
// rows are the nodes, each its own, and a configuration is represented by its number, which index() appends after the nodes.
class LayoutRows {
 public:
  static constexpr int64_t kNotConfigurable = 7;  // instead of axis + 1
  explicit LayoutRows(const LayoutInputs& inputs);
  // Row of every configurable node of the configurations, added where it is new: [configs, configurable nodes]. Tiles:
  // [configs], the configurations themselves.
  std::vector<int32_t> rows(std::span<const int32_t> configs);
  // Rows of all nodes of some configurations, given by their indices in the result of rows(): [chosen, nodes], int64;
  // [chosen, nodes + 1] for tiles.
  torch::Tensor index(const std::vector<int32_t>& rows, std::span<const int32_t> chosen) const;
  torch::Tensor nodes() const;  // [rows], int64
  torch::Tensor axes() const;   // [rows, 18], int64: axis + 1, or kNotConfigurable

 private:
  int32_t row_of(int64_t place, uint64_t packed);
  const LayoutInputs& inputs_;
  std::vector<int64_t> fixed_;        // [nodes], row of each node that is not configurable
  std::vector<int64_t> alike_place_;  // [configurable nodes], which of them is the first with the same features
  std::vector<int64_t> row_node_;
  std::vector<uint64_t> row_packed_;
  std::unordered_map<uint64_t, int32_t> known_;  // configurable node and layouts -> row
};

}  // namespace hone::learn
