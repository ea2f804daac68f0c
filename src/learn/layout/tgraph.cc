#include "learn/layout/tgraph.h"

#include "base/error.h"
#include "cost/tgraph_packed.h"
#include "cost/tgraph_scores.h"
#include "features/opcodes.h"
#include "learn/layout/tgraph_ops.h"

namespace hone::learn {

namespace {

constexpr double kStartTemperature = 0.5;  // as in the published code; the paper only states that it is learned

// Attention of one layer, as the options select: over channels, over configurations, both or neither. The input has the
// width inner(options), the output the model's.
struct Attention : torch::nn::Module {
  explicit Attention(const options::LayoutModelOptions& options) {
    if (options.channel_attention)
      channels = register_module("channels", std::make_shared<ChannelAttention>(inner(options)));
    if (options.cross_attention) temperature = register_parameter("temperature", torch::full({}, kStartTemperature));
  }
  static int64_t inner(const options::LayoutModelOptions& options) {
    return options.cross_attention ? options.hidden / 2 : options.hidden;
  }
  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor h = channels ? channels->forward(x) : x;
    return temperature.defined() ? with_cross_attention(h, temperature) : h;
  }
  cost::TGraphAttentionWeights weights() const {
    cost::TGraphAttentionWeights found;
    if (channels) {
      found.squeeze = channels->squeeze->weight.data_ptr<float>();
      found.squeeze_bias = channels->squeeze->bias.data_ptr<float>();
      found.expand = channels->expand->weight.data_ptr<float>();
      found.expand_bias = channels->expand->bias.data_ptr<float>();
      found.squeezed = channels->squeeze->weight.size(0);
    }
    found.across = temperature.defined();
    if (found.across) found.temperature = temperature.item<float>();
    return found;
  }
  std::shared_ptr<ChannelAttention> channels;
  torch::Tensor temperature;
};

struct Block : torch::nn::Module {
  Block(const options::LayoutModelOptions& options, bool published)
      : published(published),
        dropout(options.dropout),
        width(Attention::inner(options)),
        both(register_module("both",
                             torch::nn::Linear(torch::nn::LinearOptions(options.hidden, 2 * width).bias(false)))),
        bias(register_parameter("bias", torch::zeros({width}))),
        attention(register_module("attention", std::make_shared<Attention>(options))) {}

  torch::Tensor forward(const torch::Tensor& x, const LayoutAdjacency& adjacency, Noise& noise) {
    torch::Tensor h = add_neighbours(both->forward(instance_norm(x)), adjacency);  // [configs, nodes, width]
    h.add_(bias);  // in place here and below: these arrays are as large as the caches
    if (!published) h = torch::nn::functional::normalize(h, torch::nn::functional::NormalizeFuncOptions().dim(2));
    h = attention->forward(h);  // [configs, nodes, hidden]
    return published ? noise.dropout(torch::gelu(h.add_(x)), dropout) : x + noise.dropout(torch::gelu(h), dropout);
  }

  bool published;
  double dropout;
  int64_t width;
  torch::nn::Linear both;  // [W1 | W2] of add_neighbours
  torch::Tensor bias;
  std::shared_ptr<Attention> attention;
};

struct TGraph : LayoutNetwork {
  explicit TGraph(const options::LayoutModelOptions& options)
      : published(options.name == "tgraph-code"),
        features(register_module("features", std::make_shared<RowFeatures>(options))) {
    const int64_t hidden = options.hidden, inner = published ? Attention::inner(options) : hidden;
    first = register_module("first", torch::nn::Linear(features->width, inner));
    second = register_module("second", torch::nn::Linear(hidden, inner));
    for (int i = 0; published && i < 2; ++i)
      attentions.push_back(register_module("attention" + std::to_string(i), std::make_shared<Attention>(options)));
    for (int64_t i = 0; i < options.blocks; ++i)
      blocks.push_back(register_module("block" + std::to_string(i), std::make_shared<Block>(options, published)));
    last = register_module("last", torch::nn::Linear(hidden, 1));
  }

  torch::Tensor embed(const LayoutInputs& inputs, const torch::Tensor& row_nodes,
                      const torch::Tensor& row_axes) override {
    const torch::Tensor x = first->forward(features->forward(inputs, row_nodes, row_axes));
    return published ? x : torch::gelu(second->forward(torch::gelu(x)));  // [rows, hidden]
  }

  torch::Tensor score(const LayoutInputs& inputs, const torch::Tensor& rows, const torch::Tensor& index,
                      Noise& noise) override {
    if (published && !torch::GradMode::is_enabled()) return scores(inputs, rows, index);
    torch::Tensor x = published ? input_layers(rows, index) : gather_rows(rows, index);  // [configs, nodes, hidden]
    for (const auto& block : blocks) x = block->forward(x, inputs.adjacency, noise);
    return last->forward(x.mean(1)).view({-1});
  }

  // Nodes with the same rows in all configurations have the same values here, which are computed once.
  torch::Tensor input_layers(const torch::Tensor& rows, const torch::Tensor& given) {
    const torch::Tensor index = given.contiguous();
    const cost::TGraphKinds kinds(index.data_ptr<int64_t>(), index.size(0), index.size(1));
    const auto count = static_cast<int64_t>(kinds.example.size());
    const torch::Tensor shares = torch::tensor(kinds.count) / static_cast<double>(index.size(1));
    torch::Tensor x = gather_rows(rows, index.index_select(1, torch::tensor(kinds.example)));
    x = torch::gelu(attentions[0]->forward(instance_norm(x, shares)));
    x = torch::gelu(attentions[1]->forward(instance_norm(second->forward(x), shares)));
    const torch::Tensor of = torch::tensor(kinds.of).to(torch::kLong),
                        first = torch::arange(index.size(0)).mul_(count).unsqueeze(1);
    return gather_rows(x.view({-1, x.size(2)}), first + of);
  }

  // The same without gradients, of the published variant.
  torch::Tensor scores(const LayoutInputs& inputs, const torch::Tensor& rows, const torch::Tensor& index) const {
    cost::TGraphWeights weights;
    weights.hidden = second->weight.size(1);
    weights.inner = second->weight.size(0);
    weights.second = second->weight.data_ptr<float>();
    weights.second_bias = second->bias.data_ptr<float>();
    weights.after_first = attentions[0]->weights();
    weights.after_second = attentions[1]->weights();
    for (const auto& block : blocks)
      weights.blocks.push_back(
          {block->both->weight.data_ptr<float>(), block->bias.data_ptr<float>(), block->attention->weights()});
    weights.last = last->weight.data_ptr<float>();
    weights.last_bias = last->bias.item<float>();
    const WeightedEdges& in = inputs.adjacency.in;
    const torch::Tensor from = rows.contiguous(), places = index.contiguous();
    const auto scorer = cost::TGraphScorer::make(weights, {in.begin, in.node, in.weight});
    return torch::tensor(scorer->scores({from.data_ptr<float>(), places.data_ptr<int64_t>(), places.size(0)}));
  }

  bool published;
  std::shared_ptr<RowFeatures> features;
  torch::nn::Linear first{nullptr}, second{nullptr}, last{nullptr};
  std::vector<std::shared_ptr<Attention>> attentions;
  std::vector<std::shared_ptr<Block>> blocks;
};

// TGraph for the tile collection: late fusion.
struct TileTGraph : LayoutNetwork {
  explicit TileTGraph(const options::LayoutModelOptions& options)
      : features(register_module("features", std::make_shared<RowFeatures>(options))) {
    const int64_t hidden = options.hidden, inner = Attention::inner(options);
    options::LayoutModelOptions alone = options;  // nodes do not depend on the configuration
    alone.cross_attention = false;
    first = register_module("first", torch::nn::Linear(features->width, hidden));
    second = register_module("second", torch::nn::Linear(hidden, hidden));
    for (int64_t i = 0; i < options.blocks; ++i)
      blocks.push_back(
          register_module("block" + std::to_string(i), std::make_shared<Block>(alone, options.name == "tgraph-code")));
    for (int i = 0; i < 2; ++i) {
      const int64_t width = i == 0 ? options::kTileFeatures + 2 * hidden : hidden;
      joins.push_back(register_module("join" + std::to_string(i), torch::nn::Linear(width, inner)));
      attentions.push_back(register_module("attention" + std::to_string(i), std::make_shared<Attention>(options)));
    }
    last = register_module("last", torch::nn::Linear(hidden, 1));
  }

  torch::Tensor embed(const LayoutInputs& inputs, const torch::Tensor& row_nodes,
                      const torch::Tensor& row_axes) override {
    return torch::gelu(second->forward(
        torch::gelu(first->forward(features->forward(inputs, row_nodes, row_axes)))));  // [nodes, hidden]
  }

  torch::Tensor score(const LayoutInputs& inputs, const torch::Tensor& rows, const torch::Tensor& index,
                      Noise& noise) override {
    const int64_t configs = index.size(0), nodes = index.size(1) - 1;
    torch::Tensor x = rows.unsqueeze(0);  // [1, nodes, hidden]
    for (const auto& block : blocks) x = block->forward(x, inputs.adjacency, noise);
    const torch::Tensor pooled = torch::cat({x.mean(1), x.amax(1)}, 1).expand({configs, -1});
    torch::Tensor y = torch::cat({inputs.tiles.index_select(0, index.select(1, nodes)), pooled}, 1).unsqueeze(1);
    for (size_t i = 0; i < joins.size(); ++i)
      y = torch::gelu(attentions[i]->forward(joins[i]->forward(y)));  // [configs, 1, hidden]
    return last->forward(y).view({-1});
  }

  std::shared_ptr<RowFeatures> features;
  torch::nn::Linear first{nullptr}, second{nullptr}, last{nullptr};
  std::vector<std::shared_ptr<Block>> blocks;
  std::vector<torch::nn::Linear> joins;
  std::vector<std::shared_ptr<Attention>> attentions;
};

}  // namespace

std::shared_ptr<LayoutNetwork> make_tile_tgraph(const options::LayoutModelOptions& options) {
  return std::make_shared<TileTGraph>(options);
}

ChannelAttention::ChannelAttention(int64_t width)
    : squeeze(register_module("squeeze", torch::nn::Linear(width, std::max<int64_t>(width / 8, 1)))),
      expand(register_module("expand", torch::nn::Linear(std::max<int64_t>(width / 8, 1), width))) {}

torch::Tensor ChannelAttention::forward(const torch::Tensor& x) {
  return gate(x, expand->forward(squeeze->forward(x).relu_()));
}

RowFeatures::RowFeatures(const options::LayoutModelOptions& options)
    : width(options::kNumericFeatures + (options::kLayoutAxes + options::kConfigAxes) * options.layout_embedding +
            options.opcode_embedding),
      opcodes(register_module("opcodes", torch::nn::Embedding(features::kOpcodeCount, options.opcode_embedding))),
      axes(register_module("axes", torch::nn::Embedding(LayoutRows::kNotConfigurable + 1, options.layout_embedding))) {}

torch::Tensor RowFeatures::forward(const LayoutInputs& inputs, const torch::Tensor& row_nodes,
                                   const torch::Tensor& row_axes) {
  const int64_t rows = row_nodes.size(0);
  return torch::cat(
      {inputs.numeric.index_select(0, row_nodes),
       axes->forward(inputs.layout.index_select(0, row_nodes)).view({rows, -1}),
       axes->forward(row_axes).view({rows, -1}), opcodes->forward(inputs.opcode.index_select(0, row_nodes))},
      1);  // [rows, width]
}

Neighbourhood neighbourhood_of(const options::LayoutModelOptions& options) {
  if (!options.edges) return Neighbourhood::None;
  if (options.name == "tgraph-code") return Neighbourhood::MeanOfUsers;
  return options.name == "sage" ? Neighbourhood::Symmetric : Neighbourhood::Sum;
}

std::shared_ptr<LayoutNetwork> make_layout_network(const options::LayoutModelOptions& options, uint64_t seed) {
  options.validate();
  torch::manual_seed(seed);  // libtorch initialises layers from its global generator only
  if (options.tiles) return options.name == "linear" ? make_linear_tiles(options) : make_tile_tgraph(options);
  if (options.name == "sage") return make_layout_gcn(options);
  if (options.name == "linear") return make_linear_ranker(options);
  if (options.name == "frequent") throw InternalError("the most-frequent-layout rule is not a network");
  return std::make_shared<TGraph>(options);
}

}  // namespace hone::learn
