#include "learn/layout/layout_batch.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hone::learn {

namespace {

constexpr int kElements = 28;          // of the node features: product of the output's dimensions
constexpr int64_t kMostPlaces = 8192;  // packed layouts leave 13 bits of 64
constexpr uint64_t kFixed = ~uint64_t{0};
constexpr float kLargest = 10;

struct Edge {
  int32_t to, from;
  float weight;
};

WeightedEdges compress(std::vector<Edge> edges, int64_t nodes) {
  std::sort(edges.begin(), edges.end(),
            [](const Edge& a, const Edge& b) { return a.to != b.to ? a.to < b.to : a.from < b.from; });
  WeightedEdges rows;
  rows.begin.assign(nodes + 1, 0);
  for (const Edge& edge : edges) {
    ++rows.begin[edge.to + 1];
    rows.node.push_back(edge.from);
    rows.weight.push_back(edge.weight);
  }
  for (int64_t i = 0; i < nodes; ++i) rows.begin[i + 1] += rows.begin[i];
  return rows;
}

// Each pair once; both directions where the rule needs them.
std::vector<Edge> edges_of(const options::ConfigGraph& graph, Neighbourhood rule) {
  std::vector<Edge> edges;
  const bool both = rule != Neighbourhood::MeanOfUsers;
  for (size_t e = 0; e < graph.edges.size(); e += 2) {
    const int32_t user = graph.edges[e], operand = graph.edges[e + 1];
    edges.push_back({operand, user, 1});
    if (both) edges.push_back({user, operand, 1});
  }
  if (rule == Neighbourhood::Symmetric)
    for (int32_t i = 0; i < graph.nodes(); ++i) edges.push_back({i, i, 1});
  std::sort(edges.begin(), edges.end(),
            [](const Edge& a, const Edge& b) { return a.to != b.to ? a.to < b.to : a.from < b.from; });
  edges.erase(std::unique(edges.begin(), edges.end(),
                          [](const Edge& a, const Edge& b) { return a.to == b.to && a.from == b.from; }),
              edges.end());
  return edges;
}

torch::Tensor longs(const std::vector<int64_t>& values, std::vector<int64_t> shape) {
  return torch::tensor(values, torch::kLong).view(shape);
}

}  // namespace

NodeScale NodeScale::fit(std::span<const options::ConfigGraph> graphs) {
  std::vector<double> sum(options::kNumericFeatures), squares(options::kNumericFeatures);
  double rows = 0;
  for (const options::ConfigGraph& graph : graphs) {
    rows += static_cast<double>(graph.nodes());
    for (int64_t i = 0; i < graph.nodes(); ++i)
      for (int f = 0; f < options::kNumericFeatures; ++f) sum[f] += graph.node_feat[i * options::kNodeFeatures + f];
  }
  if (rows == 0) throw Error("no graph to fit node features on", "data");
  for (double& value : sum) value /= rows;
  for (const options::ConfigGraph& graph : graphs)  // a second pass: squares of sizes up to 1e9 would cancel
    for (int64_t i = 0; i < graph.nodes(); ++i)
      for (int f = 0; f < options::kNumericFeatures; ++f)
        squares[f] += std::pow(graph.node_feat[i * options::kNodeFeatures + f] - sum[f], 2);
  NodeScale scale;
  for (int f = 0; f < options::kNumericFeatures; ++f) {
    const double deviation = std::sqrt(squares[f] / rows);
    scale.mean.push_back(static_cast<float>(sum[f]));
    scale.deviation.push_back(deviation > 1e-9 ? static_cast<float>(deviation) : 1.0f);
  }
  return scale;
}

LayoutAdjacency::LayoutAdjacency(const options::ConfigGraph& graph, Neighbourhood rule) {
  std::vector<Edge> edges;
  if (rule != Neighbourhood::None) edges = edges_of(graph, rule);
  std::vector<float> degree(graph.nodes());
  for (const Edge& edge : edges) ++degree[edge.to];
  for (Edge& edge : edges) {
    if (rule == Neighbourhood::MeanOfUsers) edge.weight = 1 / degree[edge.to];
    if (rule == Neighbourhood::Symmetric) edge.weight = 1 / std::sqrt(degree[edge.to] * degree[edge.from]);
  }
  in = compress(edges, graph.nodes());
  for (Edge& edge : edges) std::swap(edge.to, edge.from);
  back = compress(edges, graph.nodes());
}

LayoutInputs::LayoutInputs(options::ConfigGraph given, const NodeScale& scale, Neighbourhood rule)
    : graph(std::move(given)), adjacency(graph, rule) {
  const int64_t n = graph.nodes();
  if (graph.configurable() >= kMostPlaces) throw Error("more than 8,191 configurable nodes", graph.name);
  numeric = torch::empty({n, options::kNumericFeatures});
  log_size = torch::empty({n});
  is_config = torch::zeros({n});
  float* out = numeric.data_ptr<float>();
  std::vector<int64_t> opcodes, axes;
  for (int64_t i = 0; i < n; ++i) {
    const float* features = &graph.node_feat[i * options::kNodeFeatures];
    for (int f = 0; f < options::kNumericFeatures; ++f)
      out[i * options::kNumericFeatures + f] =
          std::clamp((features[f] - scale.mean[f]) / scale.deviation[f], -kLargest, kLargest);
    log_size.data_ptr<float>()[i] = std::log1p(std::max(features[kElements], 0.0f)) / 10;
    opcodes.push_back(graph.node_opcode[i]);
    for (int a = 0; a < options::kLayoutAxes; ++a)
      axes.push_back(std::clamp<int64_t>(static_cast<int64_t>(features[options::kNumericFeatures + a]) + 1, 0, 6));
  }
  for (int32_t node : graph.config_nodes) is_config.data_ptr<float>()[node] = 1;
  if (graph.is_tile()) {
    tiles = torch::empty({graph.configurations(), options::kTileFeatures});
    for (size_t i = 0; i < graph.tiles.size(); ++i)
      tiles.data_ptr<float>()[i] = std::log1p(std::max(graph.tiles[i], 0.0f)) / 4;
  }
  opcode = longs(opcodes, {n});
  layout = longs(axes, {n, options::kLayoutAxes});
}

LayoutRows::LayoutRows(const LayoutInputs& inputs) : inputs_(inputs), fixed_(inputs.graph.nodes(), -1) {
  const options::ConfigGraph& graph = inputs.graph;
  std::vector<int64_t> place(graph.nodes(), -1);
  for (int64_t i = 0; i < graph.configurable(); ++i) place[graph.config_nodes[i]] = i;
  const std::vector<int32_t> first = options::first_alike(graph);
  for (int64_t node = 0; node < graph.nodes(); ++node) {
    if (place[node] >= 0) continue;
    if (first[node] < node && !graph.is_tile()) {
      fixed_[node] = fixed_[first[node]];
      continue;
    }
    fixed_[node] = static_cast<int64_t>(row_node_.size());
    row_node_.push_back(node);
    row_packed_.push_back(kFixed);
  }
  for (int32_t node : graph.config_nodes) alike_place_.push_back(place[first[node]]);
}

int32_t LayoutRows::row_of(int64_t place, uint64_t packed) {
  place = alike_place_[place];
  const auto [entry, fresh] =
      known_.emplace(packed << 13 | static_cast<uint64_t>(place), static_cast<int32_t>(row_node_.size()));
  if (fresh) {
    row_node_.push_back(inputs_.graph.config_nodes[place]);
    row_packed_.push_back(packed);
  }
  return entry->second;
}

std::vector<int32_t> LayoutRows::rows(std::span<const int32_t> configs) {
  if (inputs_.graph.is_tile()) return {configs.begin(), configs.end()};
  std::vector<int32_t> rows;
  rows.reserve(configs.size() * inputs_.graph.config_nodes.size());
  for (int32_t config : configs) {
    const auto row = inputs_.graph.config(config);
    for (size_t place = 0; place < row.size(); ++place) rows.push_back(row_of(static_cast<int64_t>(place), row[place]));
  }
  return rows;
}

torch::Tensor LayoutRows::index(const std::vector<int32_t>& rows, std::span<const int32_t> chosen) const {
  const bool tile = inputs_.graph.is_tile();
  const int64_t n = inputs_.graph.nodes() + tile, places = inputs_.graph.configurable();
  torch::Tensor index = torch::empty({static_cast<int64_t>(chosen.size()), n}, torch::kLong);
  int64_t* out = index.data_ptr<int64_t>();
  for (int32_t config : chosen) {
    std::copy(fixed_.begin(), fixed_.end(), out);
    for (int64_t place = 0; place < places; ++place)
      out[inputs_.graph.config_nodes[place]] = rows.at(config * places + place);
    if (tile) out[n - 1] = rows.at(config);
    out += n;
  }
  return index;
}

torch::Tensor LayoutRows::nodes() const { return longs(row_node_, {static_cast<int64_t>(row_node_.size())}); }

torch::Tensor LayoutRows::axes() const {
  std::vector<int64_t> digits;
  digits.reserve(row_packed_.size() * options::kConfigAxes);
  for (uint64_t packed : row_packed_) {
    if (packed == kFixed) {
      digits.insert(digits.end(), options::kConfigAxes, kNotConfigurable);
      continue;
    }
    for (int8_t axis : options::unpack_axes(packed)) digits.push_back(axis + 1);
  }
  return longs(digits, {static_cast<int64_t>(row_packed_.size()), options::kConfigAxes});
}

}  // namespace hone::learn
