// The networks of Kaufman et al. 2021, section 3.2 and figure 3: opcode embedding and node features, a first feed-forward
// layer, a GNN or none, feed-forward layers per node, a reduction, a linear output.
#include "base/error.h"
#include "learn/nets/network.h"
#include "learn/nets/segment.h"

namespace hone::learn {

namespace {

std::shared_ptr<ReductionLayer> make_reduction(options::Reduction kind, const options::ModelOptions& options) {
  switch (kind) {
    case options::Reduction::PerNode:
      return make_per_node_reduction(options);
    case options::Reduction::ColumnWise:
      return make_column_wise_reduction(options);
    case options::Reduction::Lstm:
      return make_lstm_reduction(options);
    case options::Reduction::Transformer:
      return make_transformer_reduction(options);
  }
  throw InternalError("make_reduction: unknown kind");
}

std::shared_ptr<GnnLayer> make_gnn_layer(options::Gnn kind, const options::ModelOptions& options) {
  switch (kind) {
    case options::Gnn::None:
      break;
    case options::Gnn::Sage:
      return make_sage_layer(options);
    case options::Gnn::Gat:
      return make_gat_layer(options);
    case options::Gnn::Gin:
      return make_gin_layer(options);
  }
  throw InternalError("make_gnn_layer: no such kind");
}

struct GridNetwork : Network {
  GridNetwork(const options::ModelOptions& o, const options::FeatureWidths& widths)
      : options(o), embedding(register_module("opcode", torch::nn::Embedding(kOpcodes, o.opcode_embedding))) {
    const options::ModelName& row = options::find_model(o.name);
    const int64_t hidden = o.hidden;
    opcode_input = register_module("opcode_input", linear(o.opcode_embedding, hidden));
    node_input = register_module("node_input", linear(widths.node, hidden));
    if (o.static_join == options::Join::Node)
      static_input = register_module("static_input", linear(widths.static_, hidden));
    if (o.tile_join == options::Join::Node) tile_input = register_module("tile_input", linear(widths.option(), hidden));
    for (int64_t l = 0; l < o.module_layers; ++l)
      module_layers.push_back(register_module("module" + std::to_string(l), linear(hidden, hidden)));
    for (int64_t l = 0; row.gnn != options::Gnn::None && l < o.gnn_layers; ++l)
      gnn.push_back(register_module("gnn" + std::to_string(l), make_gnn_layer(row.gnn, o)));
    for (int64_t l = 0; l < o.node_final_layers; ++l)
      final_layers.push_back(register_module("final" + std::to_string(l), linear(hidden, hidden)));
    reduction = register_module("reduction", make_reduction(row.reduction, o));
    // The per-node reduction already yields a prediction; the others need a linear layer.
    if (row.reduction != options::Reduction::PerNode) output = register_module("output", linear(reduction->width(), 1));
    if (o.static_join == options::Join::Kernel)
      static_output = register_module("static_output", linear(widths.static_, 1));
    if (o.tile_join == options::Join::Kernel) tile_output = register_module("tile_output", linear(widths.option(), 1));
  }

  // f1 of (opcode embedding, node features, kernel features): parts independent of options are computed per kernel.
  torch::Tensor first_layer(const GraphBatch& batch, const Rows& rows) {
    const torch::Tensor by_opcode = torch::mm(embedding->weight, opcode_input->weight.t());  // [opcodes, hidden]
    torch::Tensor nodes =
        torch::addmm(by_opcode.index_select(0, batch.opcodes), batch.node_features, node_input->weight.t());
    torch::Tensor copies;
    const bool per_option = options.tile_join == options::Join::Node;
    if (per_option) copies = tile_input(batch.tiles);  // [options, hidden]
    if (static_input) {
      torch::Tensor kernels = static_input(batch.static_features);  // [kernels, hidden]
      if (per_option) kernels = kernels.index_select(0, batch.option_kernel);
      copies = copies.defined() ? copies + kernels : kernels;
    }
    return join_rows(nodes, copies, rows);  // [rows, hidden]
  }

  torch::Tensor forward(const GraphBatch& batch, Noise& noise) override {
    const Rows& rows = batch.rows(options.tile_join == options::Join::Node);
    torch::Tensor x = first_layer(batch, rows);
    const auto dense = [&](torch::nn::Linear& layer) { x = noise.relu_dropout(layer(x), options.dropout); };
    for (torch::nn::Linear& layer : module_layers) dense(layer);
    for (const auto& layer : gnn) x = layer->forward(x, batch, rows, noise);
    for (torch::nn::Linear& layer : final_layers) dense(layer);
    torch::Tensor y = reduction->forward(x, rows);  // [copies, width]
    if (output) y = output(y);                      // [copies, 1]
    if (options.tile_join != options::Join::Node) y = y.index_select(0, batch.option_kernel);
    if (static_output) y = y + static_output(batch.static_features).index_select(0, batch.option_kernel);
    if (tile_output) y = y + tile_output(batch.tiles);
    return y.squeeze(1);  // [options]
  }

  options::ModelOptions options;
  torch::nn::Embedding embedding;
  torch::nn::Linear opcode_input{nullptr}, node_input{nullptr}, static_input{nullptr}, tile_input{nullptr};
  std::vector<torch::nn::Linear> module_layers, final_layers;
  std::vector<std::shared_ptr<GnnLayer>> gnn;
  std::shared_ptr<ReductionLayer> reduction;
  torch::nn::Linear output{nullptr}, static_output{nullptr}, tile_output{nullptr};
};

}  // namespace

std::shared_ptr<Network> make_grid_network(const options::ModelOptions& options, const options::FeatureWidths& widths) {
  return std::make_shared<GridNetwork>(options, widths);
}

}  // namespace hone::learn
