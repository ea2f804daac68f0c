// Networks that rank the layout configurations of a program, or the tiles of a kernel. TGraph (Khizbullin et al. 2024) in
// two variants, and two baselines of the same interface.
//
// "tgraph" follows the paper's equations: f_in of two linear layers with GELU (7); blocks x + GELU(concat(h, A_cross(h)))
// with h = A_self(S(N_instance(x))) (3, 4); S with the sum over operands and users and L2 normalisation (2).
// "tgraph-code" follows the authors' published code: f_in of two layers of linear, instance norm, channel attention,
// cross-configuration attention, GELU; blocks GELU(concat(h, A_cross(h)) + x) with the mean over users and no L2
// normalisation, dropout after the activation. In both h has half the width, so that the concatenation fits the residual;
// without cross attention it has the full width. Equation 2's feed-forward layers are linear: the text names no
// activation. Dropout, which the equations omit, follows each block's GELU in both.
//
// Tiles are joined late (section 2.3): the kernel's nodes pass f_in and the blocks once, without attention across
// configurations; mean and maximum over nodes and a tile's 24 features feed two layers of linear, channel attention,
// cross-configuration attention and GELU, and the score.
#pragma once

#include <torch/nn.h>

#include <memory>

#include "learn/layout/layout_batch.h"
#include "learn/nets/network.h"
#include "options/layout_options.h"

namespace hone::learn {

// Scores of configurations, lower = faster. Rows are embedded once and joined late: most nodes have few distinct layouts.
struct LayoutNetwork : torch::nn::Module {
  virtual torch::Tensor embed(const LayoutInputs& inputs,
                              const torch::Tensor& row_nodes,  // [rows], int64
                              const torch::Tensor& row_axes)   // [rows, 18], int64
      = 0;                                                     // -> [rows, any width]
  // Configurations scored together influence each other if the network attends across them. There is no dropout where
  // no gradients are recorded.
  virtual torch::Tensor score(const LayoutInputs& inputs,
                              const torch::Tensor& rows,   // [rows, width]
                              const torch::Tensor& index,  // [configs, nodes], int64
                              Noise& noise) = 0;           // -> [configs]
};

// Weights are initialised from the seed. Throws Error for invalid options, InternalError for "frequent".
std::shared_ptr<LayoutNetwork> make_layout_network(const options::LayoutModelOptions& options, uint64_t seed);
// The rule by which the network aggregates neighbours.
Neighbourhood neighbourhood_of(const options::LayoutModelOptions& options);

// x o sigmoid(W2 relu(W1 x)) with an eighth of the width inside (equation 5; Hu et al. 2018).
struct ChannelAttention : torch::nn::Module {
  explicit ChannelAttention(int64_t width);
  torch::Tensor forward(const torch::Tensor& x);  // [..., width] -> the same
  torch::nn::Linear squeeze, expand;
};

// Concatenates a row's node features, the layouts of node and configuration, and the opcode (section 2.2.5).
struct RowFeatures : torch::nn::Module {
  explicit RowFeatures(const options::LayoutModelOptions& options);
  torch::Tensor forward(const LayoutInputs& inputs, const torch::Tensor& row_nodes, const torch::Tensor& row_axes);
  int64_t width;
  torch::nn::Embedding opcodes, axes;  // one table of axes for nodes and configurations
};

std::shared_ptr<LayoutNetwork> make_tile_tgraph(const options::LayoutModelOptions& options);    // tgraph.cc
std::shared_ptr<LayoutNetwork> make_linear_tiles(const options::LayoutModelOptions& options);   // layout_baselines.cc
std::shared_ptr<LayoutNetwork> make_layout_gcn(const options::LayoutModelOptions& options);     // layout_baselines.cc
std::shared_ptr<LayoutNetwork> make_linear_ranker(const options::LayoutModelOptions& options);  // layout_baselines.cc

}  // namespace hone::learn
