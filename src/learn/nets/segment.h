// Operations on unpadded batches that libtorch lacks, each with its own gradient: one pass over compressed rows instead
// of gathers and scatters. float32 on the CPU. The batch must outlive the gradient's computation.
#pragma once

#include <torch/types.h>

#include "learn/nets/batch.h"

namespace hone::learn {

// y[row] = relu(per_node[node of row] + per_copy[copy of row]); per_copy may be undefined.
torch::Tensor join_rows(const torch::Tensor& per_node,  // [nodes, width]
                        const torch::Tensor& per_copy,  // [copies, width]
                        const Rows& rows);              // -> [rows, width]

// Within each copy of each kernel: y[node] = mean over its neighbours j of relu(x[j]), 0 for nodes without neighbours; and
// its backward pass. Not differentiable themselves: parts of a larger function (sage.cc). Both arrays are [rows, width]
// with adjacent columns, and may be slices of wider ones.
void mean_of_neighbours(const torch::Tensor& x, const Adjacency& adjacency, const Rows& rows, torch::Tensor y);
void mean_of_neighbours_gradient(const torch::Tensor& x, const torch::Tensor& gradient, const Adjacency& adjacency,
                                 const Rows& rows, torch::Tensor at_x);

// Within each copy of each kernel: y[node] = sum over its neighbours j of x[j]. [rows, width] -> [rows, width]
torch::Tensor sum_of_neighbours(const torch::Tensor& x, const Adjacency& adjacency, const Rows& rows);

// Dropout, after relu if `relu`: the remaining values are scaled up. The key determines which values are dropped.
torch::Tensor drop_values(const torch::Tensor& x, double probability, uint64_t key, bool relu);

torch::Tensor sum_of_nodes(const torch::Tensor& x, const Rows& rows);           // [rows, width] -> [copies, width]
torch::Tensor mean_and_max_of_nodes(const torch::Tensor& x, const Rows& rows);  // [rows, width] -> [copies, 2 * width]

}  // namespace hone::learn
