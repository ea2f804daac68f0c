// The operations of TGraph that libtorch lacks or performs in many passes, each with its own gradient. float32 on the
// CPU; torch's threads process configurations in parallel.
#pragma once

#include <torch/types.h>

#include "learn/layout/layout_batch.h"

namespace hone::learn {

// y[c, i] = rows[index[c, i]].
torch::Tensor gather_rows(const torch::Tensor& rows,    // [rows, width]
                          const torch::Tensor& index);  // [configs, nodes], int64 -> [configs, nodes, width]

// Normalises every channel of every configuration to zero mean and unit variance over nodes (Ulyanov et al. 2016,
// epsilon 1e-5).
torch::Tensor instance_norm(const torch::Tensor& x);  // [configs, nodes, width] -> the same
// The same where a row stands for several nodes that are alike: for a share of all of them.
torch::Tensor instance_norm(const torch::Tensor& x, const torch::Tensor& shares);  // shares: [rows], sum 1

// x o sigmoid(logits), of the same shape.
torch::Tensor gate(const torch::Tensor& x, const torch::Tensor& logits);

// y[c, i] = z[c, i, first half] + sum over neighbours j of weight(i, j) z[c, j, second half]. With z = x [W1 | W2] it is
// W1 x_i + W2 (aggregate of x_j), since aggregation and product commute. The adjacency must outlive the gradient's
// computation.
torch::Tensor add_neighbours(const torch::Tensor& z,             // [configs, nodes, 2 * width]
                             const LayoutAdjacency& adjacency);  // -> [configs, nodes, width]

// x and x o softmax over configurations of x / temperature (equation 6), side by side.
torch::Tensor with_cross_attention(const torch::Tensor& x,             // [configs, nodes, width]
                                   const torch::Tensor& temperature);  // scalar -> [configs, nodes, 2 * width]

}  // namespace hone::learn
