// Column-wise maximum over a node's neighbours, for GraphSAGE's pooling aggregator; libtorch has no such operation.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace hone::learn {

// Compressed rows: the neighbours of node v are node[begin[v]] .. node[begin[v + 1] - 1].
struct NeighbourLists {
  std::vector<int32_t> begin = {0};  // [nodes + 1]
  std::vector<int32_t> node;
  int64_t nodes() const { return static_cast<int64_t>(begin.size()) - 1; }
};

// y[v, c] = max over neighbours u of x[u, c], 0 for nodes without neighbours; x >= 0, float32 on the CPU. The gradient goes
// to the first neighbour that holds the maximum. The lists must outlive the gradient's computation.
torch::Tensor max_of_neighbours(const torch::Tensor& x, const NeighbourLists& lists);  // [nodes, width] -> the same

}  // namespace hone::learn
