#include "passorder/graph_encoder.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "options/tensor_values.h"

namespace hone::passorder {

namespace {

constexpr int64_t kOpcodes = 256;  // opcodes are bytes

// A layer without biases unless `bias` is given.
dense::Linear layer_of(const options::TensorFile& file, const std::string& name, int64_t inputs, int64_t outputs,
                       bool bias = false) {
  const std::vector<float> weights = options::tensor_values<float>(file, name + ".weight", "F32", {outputs, inputs});
  if (!bias) return {weights, {}, outputs, inputs};
  return {weights, options::tensor_values<float>(file, name + ".bias", "F32", {outputs}), outputs, inputs};
}

// y[v] = mean over neighbours u of max(x[u], 0), both of `width` columns.
void mean_of_positive(const dense::Matrix& x, int64_t first, const std::vector<int32_t>& begin,
                      const std::vector<int32_t>& node, int64_t to, dense::Matrix& y) {
  const int64_t width = y.columns / 2;
  for (int64_t v = 0; v < x.rows; ++v) {
    float* sum = y.row(v) + to;
    for (int32_t e = begin[v]; e < begin[v + 1]; ++e) {
      const float* row = x.row(node[e]) + first;
      for (int64_t c = 0; c < width; ++c) sum[c] += std::max(row[c], 0.0f);
    }
    const float share = 1 / static_cast<float>(std::max(begin[v + 1] - begin[v], 1));
    for (int64_t c = 0; c < width; ++c) sum[c] *= share;
  }
}

}  // namespace

GraphEncoder::GraphEncoder(const options::TensorFile& file, const options::AgentOptions& options, int64_t node_width)
    : hidden_(options.gnn_hidden),
      node_width_(node_width),
      cap_(options.neighbour_cap),
      scale_(file, "scale.nodes", node_width, options.normalize) {
  const int64_t embedded = options.opcode_embedding;
  const std::vector<float> embedding =
      options::tensor_values<float>(file, "policy.opcodes.weight", "F32", {kOpcodes, embedded});
  opcodes_ = dense::linear(layer_of(file, "policy.opcode_input", embedded, hidden_),
                           dense::matrix_of(embedding, kOpcodes, embedded), 1);
  node_input_ = layer_of(file, "policy.node_input", node_width, hidden_, true);
  for (int64_t l = 0; l < options.gnn_layers; ++l) {
    const std::string name = "policy.gnn" + std::to_string(l);
    layers_.push_back({layer_of(file, name + ".first", hidden_, 3 * hidden_),
                       layer_of(file, name + ".second", 2 * hidden_, hidden_)});
  }
}

GraphEncoder::Lists GraphEncoder::lists_of(const std::vector<int32_t>& of, const std::vector<int32_t>& neighbour,
                                           int64_t nodes) const {
  Lists lists;
  lists.begin.assign(nodes + 1, 0);
  for (const int32_t v : of) ++lists.begin[v + 1];
  for (int64_t v = 0; v < nodes; ++v)
    lists.begin[v + 1] = lists.begin[v] + static_cast<int32_t>(std::min<int64_t>(lists.begin[v + 1], cap_));
  lists.node.resize(lists.begin.back());
  std::vector<int32_t> place(lists.begin.begin(), lists.begin.end() - 1);
  for (size_t e = 0; e < of.size(); ++e)  // the first ones are kept
    if (place[of[e]] < lists.begin[of[e] + 1]) lists.node[place[of[e]]++] = neighbour[e];
  return lists;
}

// x += relu(own part + means of producers and of users)
void GraphEncoder::add_layer(const Layer& layer, const Lists& producers, const Lists& users, dense::Matrix& x) const {
  const dense::Matrix z = dense::linear(layer.first, x, 1);  // [nodes, 3 * hidden]
  dense::Matrix means(x.rows, 2 * hidden_);
  mean_of_positive(z, hidden_, producers.begin, producers.node, 0, means);
  mean_of_positive(z, 2 * hidden_, users.begin, users.node, hidden_, means);
  dense::Matrix y = dense::linear(layer.second, means, 1);
  for (int64_t v = 0; v < x.rows; ++v)
    for (int64_t c = 0; c < hidden_; ++c) x.row(v)[c] += std::max(y.row(v)[c] + z.row(v)[c], 0.0f);
}

std::vector<float> GraphEncoder::encode(const GraphObservation& graph) const {
  const int64_t nodes = graph.nodes();
  if (static_cast<int64_t>(graph.node_features.size()) != nodes * node_width_ || nodes == 0)
    throw InternalError("an observation has the wrong width");
  if (graph.edge_from.size() != graph.edge_to.size()) throw Error("the edge arrays of a graph differ in length");
  for (const auto* ends : {&graph.edge_from, &graph.edge_to})
    for (const int32_t end : *ends)
      if (end < 0 || end >= nodes) throw Error("an edge names a node outside its graph");
  std::vector<float> features = graph.node_features;
  for (int64_t v = 0; v < nodes; ++v)
    scale_.apply({features.data() + v * node_width_, static_cast<size_t>(node_width_)});
  dense::Matrix x = dense::linear(node_input_, dense::matrix_of(features, nodes, node_width_), 1);
  for (int64_t v = 0; v < nodes; ++v)
    for (int64_t c = 0; c < hidden_; ++c) x.row(v)[c] = std::max(x.row(v)[c] + opcodes_.row(graph.opcodes[v])[c], 0.0f);
  const Lists producers = lists_of(graph.edge_to, graph.edge_from, nodes),
              users = lists_of(graph.edge_from, graph.edge_to, nodes);
  for (const Layer& layer : layers_) add_layer(layer, producers, users, x);
  std::vector<float> encoded = dense::mean_of_rows(x);
  for (int64_t c = 0; c < hidden_; ++c) {
    float most = x.row(0)[c];
    for (int64_t v = 1; v < nodes; ++v) most = std::max(most, x.row(v)[c]);
    encoded.push_back(most);
  }
  encoded.push_back(std::log(static_cast<float>(nodes)));
  return encoded;
}

}  // namespace hone::passorder
