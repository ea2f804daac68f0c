// The operations on flat batches that libtorch lacks, each with its own gradient: one pass over compressed rows instead of
// gathers and scatters. float32 on the CPU. The batch must outlive the gradient's computation.
#pragma once

#include <torch/types.h>

#include "models/batch.h"

namespace hone::models {

// y[row] = relu(per_node[node of row] + per_copy[copy of row]); per_copy may be undefined.
torch::Tensor join_rows(const torch::Tensor& per_node,  // [nodes, width]
                        const torch::Tensor& per_copy,  // [copies, width]
                        const Rows& rows);              // -> [rows, width]

// Within each copy of each kernel: y[node] = mean over its neighbours j of relu(x[j]); 0 for nodes without neighbours.
torch::Tensor mean_of_neighbours(const torch::Tensor& x,  // [rows, width]
                                 const Adjacency& adjacency, const Rows& rows);  // -> [rows, width]

torch::Tensor sum_of_nodes(const torch::Tensor& x, const Rows& rows);       // [rows, width] -> [copies, width]
torch::Tensor mean_and_max_of_nodes(const torch::Tensor& x, const Rows& rows);  // [rows, width] -> [copies, 2 * width]

}  // namespace hone::models
