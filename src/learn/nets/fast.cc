#include "learn/nets/fast.h"

#include "learn/nets/segment.h"

namespace hone::learn {

FastNetwork::FastNetwork(const options::ModelOptions& o, const options::FeatureWidths& widths)
    : options(o), embedding(register_module("opcode", torch::nn::Embedding(kOpcodes, o.opcode_embedding))) {
  const int64_t hidden = o.hidden;
  opcode_input = register_module("opcode_input", linear(o.opcode_embedding, hidden));
  node_input = register_module("node_input", linear(widths.node, hidden, true));
  static_input = register_module("static_input", linear(widths.static_, hidden));
  for (int64_t l = 0; l < o.gnn_layers; ++l)
    gnn.push_back(register_module("gnn" + std::to_string(l), make_sage_layer(o)));
  pooled = register_module("pooled", linear(3 * hidden, hidden, true));
  shift = register_module("shift", linear(hidden, hidden, true));
  gate = register_module("gate", linear(hidden, hidden, true));
  tile_input = register_module("tile_input", linear(widths.option(), hidden));
  middle = register_module("middle", linear(hidden, hidden, true));
  output = register_module("output", linear(hidden, 1));
  kernel_output = register_module("kernel_output", linear(hidden, 1, true));
  // A skip connection for the analytical model's estimate: the network learns its residual.
  if (widths.demand > 0) skip = register_module("skip", linear(widths.option(), 1));
}

torch::Tensor FastNetwork::embed(const GraphBatch& batch, Noise& noise) {
  const Rows& rows = batch.per_kernel;
  const torch::Tensor by_opcode = torch::mm(embedding->weight, opcode_input->weight.t());  // [opcodes, hidden]
  const torch::Tensor nodes = node_input(batch.node_features) + by_opcode.index_select(0, batch.opcodes);
  torch::Tensor x = join_rows(nodes, static_input(batch.static_features), rows);  // [nodes, hidden]
  torch::Tensor sum = sum_of_nodes(x, rows);
  for (const auto& layer : gnn) x = x + layer->forward(x, batch, rows, noise);
  // The sum before message passing reflects the kernel's size; the root limits it for large kernels.
  sum = torch::sqrt(sum + 1) - 1;
  return torch::relu(pooled(torch::cat({mean_and_max_of_nodes(x, rows), sum}, 1)));  // [kernels, hidden]
}

torch::Tensor FastNetwork::score_options(const torch::Tensor& kernel, const torch::Tensor& option_kernel,
                                         const torch::Tensor& tiles, Noise& noise) {
  const auto per_option = [&](const torch::Tensor& x) {
    return option_kernel.defined() ? x.index_select(0, option_kernel) : x;
  };
  // The kernel decides which option features matter (gate) and where their thresholds lie (shift).
  torch::Tensor z = tile_input(tiles);  // [options, hidden]
  z = torch::relu(torch::addcmul(per_option(shift(kernel)), z, per_option(1 + gate(kernel))));
  z = torch::relu(middle(noise.dropout(z, options.dropout)));
  torch::Tensor score = output(z) + per_option(kernel_output(kernel));
  if (skip) score = score + skip(tiles);
  return score.squeeze(1);  // [options]
}

torch::Tensor FastNetwork::forward(const GraphBatch& batch, Noise& noise) {
  return score_options(embed(batch, noise), batch.option_kernel, batch.tiles, noise);
}

std::shared_ptr<Network> make_fast_network(const options::ModelOptions& options, const options::FeatureWidths& widths) {
  return std::make_shared<FastNetwork>(options, widths);
}

}  // namespace hone::learn
