// A Transformer encoder (Vaswani et al. 2017) over the nodes of a kernel, summed. There is no positional encoding:
// nodes differ in their features and in the graph network's output.
#include <cmath>

#include "learn/nets/network.h"
#include "learn/nets/segment.h"

namespace hone::learn {

namespace {

struct Block : torch::nn::Module {
  explicit Block(const options::ModelOptions& options)
      : heads(options.transformer_heads),
        hidden(options.hidden),
        query_key_value(register_module("query_key_value", linear(hidden, 3 * hidden))),
        attended(register_module("attended", linear(hidden, hidden))),
        wide(register_module("wide", linear(hidden, 4 * hidden))),
        narrow(register_module("narrow", linear(4 * hidden, hidden))),
        norm1(register_module("norm1", torch::nn::LayerNorm(torch::nn::LayerNormOptions({hidden})))),
        norm2(register_module("norm2", torch::nn::LayerNorm(torch::nn::LayerNormOptions({hidden})))) {}

  // Copies of one kernel have the same nodes, so one call per kernel needs no masks.
  torch::Tensor attention(const torch::Tensor& x, const Rows& rows) {
    const torch::Tensor all = query_key_value(x);  // [rows, 3 * hidden]
    std::vector<torch::Tensor> parts;
    for (int64_t k = 0; k < rows.kernels(); ++k) {
      const int64_t nodes = rows.nodes_of(k), copies = rows.copies_of(k);
      const torch::Tensor qkv = all.narrow(0, rows.row_begin[k], nodes * copies)
                                    .view({copies, nodes, 3, heads, hidden / heads})
                                    .permute({2, 0, 3, 1, 4});  // [3, copies, heads, nodes, hidden / heads]
      parts.push_back(at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2]).transpose(1, 2).reshape({-1, hidden}));
    }
    return attended(torch::cat(parts));  // [rows, hidden]
  }

  torch::Tensor forward(const torch::Tensor& x, const Rows& rows) {
    const torch::Tensor y = norm1(x + attention(x, rows));
    return norm2(y + narrow(torch::relu(wide(y))));
  }

  int64_t heads, hidden;
  torch::nn::Linear query_key_value, attended, wide, narrow;
  torch::nn::LayerNorm norm1, norm2;
};

struct Transformer : ReductionLayer {
  explicit Transformer(const options::ModelOptions& options) : hidden(options.hidden) {
    for (int64_t l = 0; l < options.transformer_layers; ++l)
      blocks.push_back(register_module("block" + std::to_string(l), std::make_shared<Block>(options)));
  }
  torch::Tensor forward(const torch::Tensor& x, const Rows& rows) override {
    torch::Tensor y = x;
    for (const auto& block : blocks) y = block->forward(y, rows);
    return sum_of_nodes(y, rows);  // [copies, hidden]
  }
  int64_t width() const override { return hidden; }

  int64_t hidden;
  std::vector<std::shared_ptr<Block>> blocks;
};

}  // namespace

std::shared_ptr<ReductionLayer> make_transformer_reduction(const options::ModelOptions& options) {
  return std::make_shared<Transformer>(options);
}

}  // namespace hone::learn
