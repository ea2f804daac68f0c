// Baselines for TGraph: a graph network modelled on TpuGraphs' own (baselines/layout of
// github.com/google-research-datasets/tpu_graphs), and a linear ranker.
#include "features/opcodes.h"
#include "learn/layout/tgraph.h"
#include "learn/layout/tgraph_ops.h"

namespace hone::learn {

namespace {

constexpr double kAxisScale = 1.0 / 7;

// Two residual layers of symmetrically normalised convolution over the node's features, opcode and the configuration's
// raw axes; the mean and the normalised sums of all and of the configurable nodes feed the score.
struct Gcn : LayoutNetwork {
  explicit Gcn(const options::LayoutModelOptions& options) : hidden(options.hidden) {
    opcodes = register_module("opcodes", torch::nn::Embedding(features::kOpcodeCount, options.opcode_embedding));
    const int64_t width =
        options::kNumericFeatures + options::kLayoutAxes + options::kConfigAxes + options.opcode_embedding;
    first = register_module("first", torch::nn::Linear(width, hidden));
    for (int64_t i = 0; i < options.blocks; ++i)
      layers.push_back(register_module("layer" + std::to_string(i), torch::nn::Linear(hidden, hidden)));
    last = register_module("last", torch::nn::Linear(3 * hidden, 1));
  }

  torch::Tensor embed(const LayoutInputs& inputs, const torch::Tensor& row_nodes,
                      const torch::Tensor& row_axes) override {
    const torch::Tensor raw = torch::cat({inputs.layout.index_select(0, row_nodes), row_axes}, 1);
    return torch::relu(first->forward(torch::cat({inputs.numeric.index_select(0, row_nodes), raw * kAxisScale,
                                                  opcodes->forward(inputs.opcode.index_select(0, row_nodes))},
                                                 1)));  // [rows, hidden]
  }

  torch::Tensor score(const LayoutInputs& inputs, const torch::Tensor& rows, const torch::Tensor& index,
                      Noise&) override {
    torch::Tensor x = gather_rows(rows, index);  // [configs, nodes, hidden]
    for (auto& layer : layers) {
      const torch::Tensor y = layer->forward(x);
      // The aggregate includes the node itself, so the first half is zero.
      x = x + torch::relu(add_neighbours(torch::cat({torch::zeros_like(y), y}, 2), inputs.adjacency));
    }
    const auto by_channel = torch::nn::functional::NormalizeFuncOptions().dim(1);
    const torch::Tensor chosen = (x * inputs.is_config.view({1, -1, 1})).sum(1);
    const torch::Tensor pooled = torch::cat({x.mean(1), torch::nn::functional::normalize(x.sum(1), by_channel),
                                             torch::nn::functional::normalize(chosen, by_channel)},
                                            1);  // [configs, 3 * hidden]
    return last->forward(pooled).view({-1});
  }

  int64_t hidden;
  torch::nn::Embedding opcodes{nullptr};
  torch::nn::Linear first{nullptr}, last{nullptr};
  std::vector<torch::nn::Linear> layers;
};

// score = sum over configurable nodes and axes of w[opcode, place, axis] + log size * v[opcode, place, axis].
struct Linear : LayoutNetwork {
  Linear() {
    const int64_t cells = features::kOpcodeCount * options::kConfigAxes * (LayoutRows::kNotConfigurable + 1);
    weights = register_module("weights", torch::nn::Embedding(cells, 2));
    torch::nn::init::zeros_(weights->weight);
  }

  torch::Tensor embed(const LayoutInputs& inputs, const torch::Tensor& row_nodes,
                      const torch::Tensor& row_axes) override {
    const torch::Tensor places = torch::arange(options::kConfigAxes, torch::kLong).view({1, -1});
    const torch::Tensor opcode = inputs.opcode.index_select(0, row_nodes).view({-1, 1});
    const torch::Tensor cell = (opcode * options::kConfigAxes + places) * (LayoutRows::kNotConfigurable + 1) + row_axes;
    const torch::Tensor found = weights->forward(cell).sum(1);  // [rows, 2]
    const torch::Tensor size = inputs.log_size.index_select(0, row_nodes);
    const torch::Tensor counts = inputs.is_config.index_select(0, row_nodes);
    return ((found.select(1, 0) + size * found.select(1, 1)) * counts).view({-1, 1});
  }

  torch::Tensor score(const LayoutInputs&, const torch::Tensor& rows, const torch::Tensor& index, Noise&) override {
    return gather_rows(rows, index).sum({1, 2});
  }

  torch::nn::Embedding weights{nullptr};
};

// score = w . the tile's 24 features.
struct LinearTiles : LayoutNetwork {
  LinearTiles() { weights = register_module("weights", torch::nn::Linear(options::kTileFeatures, 1)); }

  torch::Tensor embed(const LayoutInputs& inputs, const torch::Tensor&, const torch::Tensor&) override {
    return inputs.tiles;
  }

  torch::Tensor score(const LayoutInputs&, const torch::Tensor& rows, const torch::Tensor& index, Noise&) override {
    return weights->forward(rows.index_select(0, index.select(1, index.size(1) - 1))).view({-1});
  }

  torch::nn::Linear weights{nullptr};
};

}  // namespace

std::shared_ptr<LayoutNetwork> make_linear_tiles(const options::LayoutModelOptions&) {
  return std::make_shared<LinearTiles>();
}

std::shared_ptr<LayoutNetwork> make_layout_gcn(const options::LayoutModelOptions& options) {
  return std::make_shared<Gcn>(options);
}
std::shared_ptr<LayoutNetwork> make_linear_ranker(const options::LayoutModelOptions&) {
  return std::make_shared<Linear>();
}

}  // namespace hone::learn
