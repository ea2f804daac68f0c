#include "cost/layout_ranker.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>
#include <unordered_map>

#include "base/error.h"
#include "base/json_text.h"
#include "base/rng.h"
#include "cost/learn_loader.h"
#include "cost/tgraph_scores.h"
#include "features/encoded.h"
#include "features/opcodes.h"
#include "options/layout_files.h"
#include "options/layout_options.h"
#include "options/tensor_values.h"

namespace hone::cost {

namespace {

using options::ConfigGraph;
using options::LayoutModelOptions;

constexpr int64_t kBatch = 128;        // configurations scored together, at most
constexpr int64_t kMostPlaces = 8192;  // packed layouts leave 13 bits of 64
constexpr int64_t kNotConfigurable = 7, kAxisRows = 8;
constexpr float kLargest = 10;

int64_t inner_width(const LayoutModelOptions& o) { return o.cross_attention ? o.hidden / 2 : o.hidden; }

int64_t row_width(const LayoutModelOptions& o) {
  return options::kNumericFeatures + (options::kLayoutAxes + options::kConfigAxes) * o.layout_embedding +
         o.opcode_embedding;
}

LayoutModelOptions options_of(const options::TensorFile& file) {
  const auto found = file.metadata.find("model");
  if (found == file.metadata.end()) throw Error("not weights of a layout ranker");
  const nlohmann::json json = nlohmann::json::parse(shallow_json(found->second), nullptr, false);
  if (json.is_discarded()) throw Error("the weights' metadata are damaged");
  return options::layout_model_options_from_json(json);
}

// Tensors of one file by name, which live as long as this.
class Tensors {
 public:
  Tensors(const options::TensorFile& file, std::string prefix) : file_(file), prefix_(std::move(prefix)) {}
  const float* get(const std::string& name, const std::vector<int64_t>& shape) {
    held_.push_back(options::tensor_values<float>(file_, prefix_ + name, "F32", shape));
    return held_.back().data();
  }

 private:
  const options::TensorFile& file_;
  std::string prefix_;
  std::vector<std::vector<float>> held_;
};

TGraphAttentionWeights attention(Tensors& tensors, const std::string& name, const LayoutModelOptions& o) {
  const int64_t inner = inner_width(o);
  TGraphAttentionWeights weights;
  if (o.channel_attention) {
    weights.squeezed = std::max<int64_t>(inner / 8, 1);
    weights.squeeze = tensors.get(name + ".channels.squeeze.weight", {weights.squeezed, inner});
    weights.squeeze_bias = tensors.get(name + ".channels.squeeze.bias", {weights.squeezed});
    weights.expand = tensors.get(name + ".channels.expand.weight", {inner, weights.squeezed});
    weights.expand_bias = tensors.get(name + ".channels.expand.bias", {inner});
  }
  weights.across = o.cross_attention;
  if (weights.across) weights.temperature = *tensors.get(name + ".temperature", {});
  return weights;
}

// One network of the ensemble.
struct Network {
  Network(const options::TensorFile& file, const std::string& prefix, const LayoutModelOptions& o)
      : tensors(file, prefix) {
    const int64_t inner = inner_width(o);
    opcodes = tensors.get("features.opcodes.weight", {features::kOpcodeCount, o.opcode_embedding});
    axes = tensors.get("features.axes.weight", {kAxisRows, o.layout_embedding});
    first = tensors.get("first.weight", {inner, row_width(o)});
    first_bias = tensors.get("first.bias", {inner});
    after.hidden = o.hidden;
    after.inner = inner;
    after.second = tensors.get("second.weight", {inner, o.hidden});
    after.second_bias = tensors.get("second.bias", {inner});
    after.after_first = attention(tensors, "attention0", o);
    after.after_second = attention(tensors, "attention1", o);
    for (int64_t b = 0; b < o.blocks; ++b) {
      const std::string name = "block" + std::to_string(b);
      after.blocks.push_back({tensors.get(name + ".both.weight", {2 * inner, o.hidden}),
                              tensors.get(name + ".bias", {inner}), attention(tensors, name + ".attention", o)});
    }
    after.last = tensors.get("last.weight", {1, o.hidden});
    after.last_bias = *tensors.get("last.bias", {1});
  }
  Tensors tensors;
  const float *opcodes, *axes, *first, *first_bias;
  TGraphWeights after;
};

// A graph's nodes as inputs: scaled features, axes of the output, and for each operand the mean of its users.
struct Inputs {
  Inputs(ConfigGraph given, const options::TensorFile& file, bool edges) : graph(std::move(given)) {
    if (graph.configurable() >= kMostPlaces) throw Error("more than 8,191 configurable nodes", graph.name);
    const std::vector<int64_t> width{options::kNumericFeatures};
    const auto mean = options::tensor_values<float>(file, "scale.mean", "F32", width);
    const auto deviation = options::tensor_values<float>(file, "scale.deviation", "F32", width);
    for (int64_t i = 0; i < graph.nodes(); ++i) {
      const float* row = &graph.node_feat[i * options::kNodeFeatures];
      for (int f = 0; f < options::kNumericFeatures; ++f)
        numeric.push_back(std::clamp((row[f] - mean[f]) / deviation[f], -kLargest, kLargest));
      for (int a = 0; a < options::kLayoutAxes; ++a)
        axes.push_back(std::clamp<int64_t>(static_cast<int64_t>(row[options::kNumericFeatures + a]) + 1, 0, 6));
    }
    connect(edges);
  }

  void connect(bool edges) {
    std::vector<std::pair<int32_t, int32_t>> pairs;  // operand, user
    for (size_t e = 0; edges && e < graph.edges.size(); e += 2) pairs.emplace_back(graph.edges[e + 1], graph.edges[e]);
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    begin.assign(graph.nodes() + 1, 0);
    for (const auto& [to, from] : pairs) {
      ++begin[to + 1];
      node.push_back(from);
    }
    for (int64_t i = 0; i < graph.nodes(); ++i) begin[i + 1] += begin[i];
    for (const auto& [to, from] : pairs) weight.push_back(1 / static_cast<float>(begin[to + 1] - begin[to]));
  }

  ConfigGraph graph;
  std::vector<float> numeric;  // [nodes, 134]
  std::vector<int64_t> axes;   // [nodes, 6], axis + 1
  std::vector<int32_t> begin, node;
  std::vector<float> weight;
};

// The distinct pairs of node and layouts, nodes with the same features being one, and which of them every configuration consists of.
struct Rows {
  explicit Rows(const Inputs& inputs) : index(inputs.graph.configurations() * inputs.graph.nodes()) {
    const ConfigGraph& graph = inputs.graph;
    std::vector<int64_t> fixed(graph.nodes(), -1);
    const std::vector<int32_t> first = options::first_alike(graph);
    std::vector<int64_t> place_of(graph.nodes(), -1);
    for (int64_t place = 0; place < graph.configurable(); ++place) place_of[graph.config_nodes[place]] = place;
    for (int64_t i = 0; i < graph.nodes(); ++i)
      if (place_of[i] < 0) fixed[i] = first[i] < i ? fixed[first[i]] : add(i, {}, false);
    std::unordered_map<uint64_t, int64_t> known;
    for (int64_t c = 0; c < graph.configurations(); ++c) {
      int64_t* out = index.data() + c * graph.nodes();
      std::copy(fixed.begin(), fixed.end(), out);
      const auto packed = graph.config(c);
      for (size_t place = 0; place < packed.size(); ++place) {
        const int32_t at = graph.config_nodes[place];
        const auto alike = static_cast<uint64_t>(place_of[first[at]]);
        const auto [entry, fresh] = known.emplace(packed[place] << 13 | alike, static_cast<int64_t>(nodes.size()));
        if (fresh) add(at, options::unpack_axes(packed[place]), true);
        out[at] = entry->second;
      }
    }
  }

  int64_t add(int64_t at, const options::ConfigAxes& given, bool configurable) {
    nodes.push_back(at);
    for (const int8_t axis : given) axes.push_back(configurable ? axis + 1 : kNotConfigurable);
    return static_cast<int64_t>(nodes.size()) - 1;
  }

  std::vector<int64_t> nodes;  // [rows]
  std::vector<int64_t> axes;   // [rows, 18], axis + 1 or kNotConfigurable
  std::vector<int64_t> index;  // [configurations, nodes]
};

// The first linear layer's outputs of all rows: [rows, inner].
std::vector<float> embed(const Network& network, const LayoutModelOptions& o, const Inputs& inputs, const Rows& rows) {
  const int64_t inner = inner_width(o), width = row_width(o), depth = o.layout_embedding;
  std::vector<float> all, x(width);
  for (size_t r = 0; r < rows.nodes.size(); ++r) {
    const int64_t at = rows.nodes[r];
    float* to = std::copy_n(&inputs.numeric[at * options::kNumericFeatures], options::kNumericFeatures, x.data());
    for (int a = 0; a < options::kLayoutAxes; ++a)
      to = std::copy_n(network.axes + inputs.axes[at * options::kLayoutAxes + a] * depth, depth, to);
    for (int a = 0; a < options::kConfigAxes; ++a)
      to = std::copy_n(network.axes + rows.axes[r * options::kConfigAxes + a] * depth, depth, to);
    std::copy_n(network.opcodes + inputs.graph.node_opcode[at] * o.opcode_embedding, o.opcode_embedding, to);
    for (int64_t k = 0; k < inner; ++k)
      all.push_back(std::inner_product(x.begin(), x.end(), network.first + k * width, network.first_bias[k]));
  }
  return all;
}

// Adds the network's scores to `sum`. Batches have even sizes: attention across configurations depends on the size.
void add_scores(const Network& network, const LayoutModelOptions& o, const Inputs& inputs, const Rows& rows,
                std::vector<double>& sum, int threads) {
  const std::vector<float> table = embed(network, o, inputs, rows);
  const auto count = static_cast<int64_t>(sum.size()), nodes = inputs.graph.nodes();
  const int64_t batches = (count + kBatch - 1) / kBatch;
  std::vector<int32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  Rng rng(0);
  for (int64_t i = count; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  std::atomic<int64_t> next = 0;
  const auto work = [&] {
    const auto scorer = TGraphScorer::make(network.after, {inputs.begin, inputs.node, inputs.weight});
    for (int64_t b = next++; b < batches; b = next++) {
      const int64_t first = count * b / batches, last = count * (b + 1) / batches;
      std::vector<int64_t> index;
      for (int64_t i = first; i < last; ++i)
        index.insert(index.end(), &rows.index[order[i] * nodes], &rows.index[order[i] * nodes] + nodes);
      const std::vector<float> scores = scorer->scores({table.data(), index.data(), last - first});
      for (int64_t i = first; i < last; ++i) sum[order[i]] += scores[i - first];
    }
  };
  std::vector<std::jthread> helpers;
  for (int t = 1; t < threads; ++t) helpers.emplace_back(work);
  work();
}

}  // namespace

bool holds_tgraph(const options::TensorFile& file) {
  const LayoutModelOptions options = options_of(file);
  return options.name == "tgraph-code" && !options.tiles;
}

std::vector<double> rank_tgraph(const options::TensorFile& file, const ConfigGraph& graph, int threads) {
  const auto version = file.metadata.find("feature_version");
  if (version == file.metadata.end() || version->second != std::to_string(features::kFeatureVersion))
    throw Error("the weights have another feature version", "", "train them again");
  const LayoutModelOptions options = options_of(file);
  options.validate();
  if (graph.is_tile()) throw Error("these weights rank layouts, the data are tiles", graph.name);
  std::vector<double> sum(graph.configurations());
  if (sum.empty()) return sum;
  const Inputs inputs(options.prune ? options::prune(graph) : graph, file, options.edges);
  const Rows rows(inputs);
  int64_t members = 0;
  while (file.tensors.contains("member" + std::to_string(members) + ".last.bias")) ++members;
  if (members == 0) throw Error("the weights contain no network");
  for (int64_t m = 0; m < members; ++m)
    add_scores(Network(file, "member" + std::to_string(m) + ".", options), options, inputs, rows, sum, threads);
  for (double& value : sum) value /= static_cast<double>(members);
  return sum;
}

std::vector<double> rank_layouts(const std::string& data, const std::string& weights, int threads) {
  const options::TensorFile file = options::read_safetensors(weights);
  try {
    if (holds_tgraph(file)) return rank_tgraph(file, options::read_layout_npz(data), threads);
  } catch (const Error& e) {
    throw Error(e.what(), e.where().empty() ? weights : e.where(), e.hint());
  }
  const nlohmann::json request = {{"data", data}, {"weights", weights}, {"threads", threads}};
  const nlohmann::json reply = run_learn_command("rank layout", request, {});
  const nlohmann::json& graphs = reply.at("graphs");
  if (graphs.size() != 1) throw InternalError("the model ranked another number of graphs than it was given");
  return graphs[0].at("scores").get<std::vector<double>>();
}

}  // namespace hone::cost
