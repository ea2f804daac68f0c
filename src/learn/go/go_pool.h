// Column-wise maximum over a node's neighbours, for GraphSAGE's pooling aggregator; libtorch has no such operation.
#pragma once

#include <torch/types.h>

#include "go/go_graph.h"

namespace hone::learn {

using go::NeighbourLists;

// y[v, c] = max over neighbours u of x[u, c], 0 for nodes without neighbours; x >= 0, float32 on the CPU. The gradient goes
// to the first neighbour that holds the maximum. The lists must outlive the gradient's computation.
torch::Tensor max_of_neighbours(const torch::Tensor& x, const NeighbourLists& lists);  // [nodes, width] -> the same

}  // namespace hone::learn
