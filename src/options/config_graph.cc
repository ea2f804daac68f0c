#include "options/config_graph.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "features/opcodes.h"

namespace hone::options {

namespace {

constexpr int kShapeDims = 21;  // of the node features: six dimensions of the output

int rank_of(const float* features) {
  int rank = 0;
  while (rank < kLayoutAxes && features[kShapeDims + rank] > 0) ++rank;
  return rank;
}

void require(bool fine, const ConfigGraph& graph, const char* array, const std::string& what) {
  if (!fine) throw Error(what, graph.name + ", " + array);
}

void check_nodes(const ConfigGraph& graph) {
  const int64_t n = graph.nodes();
  require(n > 0, graph, "node_opcode", "the graph has no node");
  require(static_cast<int64_t>(graph.node_feat.size()) == n * kNodeFeatures, graph, "node_feat",
          "not 140 features for each of " + std::to_string(n) + " nodes");
  for (float value : graph.node_feat) require(std::isfinite(value), graph, "node_feat", "a feature is not finite");
  for (uint8_t opcode : graph.node_opcode)
    require(opcode < features::kOpcodeCount, graph, "node_opcode", "unknown opcode id " + std::to_string(opcode));
  require(graph.edges.size() % 2 == 0, graph, "edge_index", "an edge must be two nodes");
  for (int32_t node : graph.edges)
    require(node >= 0 && node < n, graph, "edge_index", "there is no node " + std::to_string(node));
}

}  // namespace

uint64_t pack_axes(const ConfigAxes& axes) {
  uint64_t packed = 0;
  for (int i = kConfigAxes; i-- > 0;) packed = packed * 7 + static_cast<uint64_t>(axes[i] + 1);
  return packed;
}

ConfigAxes unpack_axes(uint64_t packed) {
  ConfigAxes axes;
  for (int8_t& axis : axes) {
    axis = static_cast<int8_t>(static_cast<int>(packed % 7) - 1);
    packed /= 7;
  }
  return axes;
}

PackedConfigs PackedConfigs::hold(std::vector<uint64_t> values) {
  const auto kept = std::make_shared<const std::vector<uint64_t>>(std::move(values));
  return {kept, *kept};
}

std::string_view ConfigGraph::config_bytes(int64_t index) const {
  if (is_tile()) return {reinterpret_cast<const char*>(&tiles[index * kTileFeatures]), kTileFeatures * sizeof(float)};
  const auto row = config(index);
  return {reinterpret_cast<const char*>(row.data()), row.size_bytes()};
}

void check(const ConfigGraph& graph) {
  check_nodes(graph);
  std::vector<bool> seen(graph.nodes());
  if (graph.is_tile()) {
    require(graph.tiles.size() % kTileFeatures == 0, graph, "config_feat", "not 24 features for each configuration");
    require(graph.config_nodes.empty(), graph, "node_config_ids", "a kernel with tiles has no layouts to configure");
    for (float value : graph.tiles) require(std::isfinite(value), graph, "config_feat", "a feature is not finite");
  } else {
    require(!graph.config_nodes.empty(), graph, "node_config_ids", "no node is configurable");
  }
  for (int32_t node : graph.config_nodes) {
    require(node >= 0 && node < graph.nodes(), graph, "node_config_ids", "there is no node " + std::to_string(node));
    require(!seen[node], graph, "node_config_ids", "node " + std::to_string(node) + " occurs twice");
    seen[node] = true;
  }
  require(graph.is_tile() || graph.configs.values.size() % graph.config_nodes.size() == 0, graph, "node_config_feat",
          "not 18 axes for each configurable node");
  const auto measured = static_cast<int64_t>(graph.runtime_ns.size());
  require(measured == 0 || measured == graph.configurations(), graph, "config_runtime",
          std::to_string(measured) + " run times for " + std::to_string(graph.configurations()) + " configurations");
  for (double ns : graph.runtime_ns)
    require(std::isfinite(ns) && ns >= 0, graph, "config_runtime", "a run time is not a number or negative");
}

void mark_absent_layouts(std::vector<float>& node_feat) {
  for (size_t at = 0; at + kNodeFeatures <= node_feat.size(); at += kNodeFeatures) {
    const int rank = rank_of(&node_feat[at]);
    float* axes = &node_feat[at + kNumericFeatures];
    if (std::find(axes, axes + kLayoutAxes, -1.0f) != axes + kLayoutAxes) continue;
    const bool none = rank > 1 && std::all_of(axes, axes + rank, [](float axis) { return axis == 0; });
    for (int i = none ? 0 : rank; i < kLayoutAxes; ++i) axes[i] = -1;
  }
}

ConfigGraph prune(const ConfigGraph& graph) {
  if (graph.is_tile()) return graph;
  std::vector<bool> configurable(graph.nodes());
  for (int32_t node : graph.config_nodes) configurable[node] = true;
  std::vector<bool> kept = configurable;
  for (size_t e = 0; e < graph.edges.size(); e += 2) {
    const int32_t user = graph.edges[e], operand = graph.edges[e + 1];
    if (configurable[user]) kept[operand] = true;
    if (configurable[operand]) kept[user] = true;
  }
  ConfigGraph small;
  small.name = graph.name;
  std::vector<int32_t> place(graph.nodes(), -1);
  for (int32_t node = 0; node < graph.nodes(); ++node) {
    if (!kept[node]) continue;
    place[node] = static_cast<int32_t>(small.node_opcode.size());
    small.node_opcode.push_back(graph.node_opcode[node]);
    const auto row = graph.node_feat.begin() + int64_t{node} * kNodeFeatures;
    small.node_feat.insert(small.node_feat.end(), row, row + kNodeFeatures);
  }
  for (size_t e = 0; e < graph.edges.size(); e += 2) {
    const int32_t user = graph.edges[e], operand = graph.edges[e + 1];
    if (configurable[user] || configurable[operand])
      small.edges.insert(small.edges.end(), {place[user], place[operand]});
  }
  for (int32_t node : graph.config_nodes) small.config_nodes.push_back(place[node]);
  small.configs = graph.configs;
  small.runtime_ns = graph.runtime_ns;
  return small;
}

std::vector<int32_t> first_alike(const ConfigGraph& graph) {
  std::vector<bool> configurable(graph.nodes());
  for (int32_t node : graph.config_nodes) configurable[node] = true;
  std::unordered_map<std::string, int32_t> found;
  std::vector<int32_t> first;
  for (int32_t node = 0; node < graph.nodes(); ++node) {
    const float* row = graph.node_feat.data() + int64_t{node} * kNodeFeatures;
    std::string key(reinterpret_cast<const char*>(row), kNodeFeatures * sizeof(float));
    key += static_cast<char>(graph.node_opcode[node]);
    key += configurable[node] ? '1' : '0';
    first.push_back(found.try_emplace(std::move(key), node).first->second);
  }
  return first;
}

DistinctConfigs distinct_configs(const ConfigGraph& graph) {
  DistinctConfigs found;
  std::unordered_map<std::string_view, size_t> place;
  for (int64_t i = 0; i < graph.configurations(); ++i) {
    const auto [entry, fresh] = place.emplace(graph.config_bytes(i), found.index.size());
    if (fresh) found.index.push_back(static_cast<int32_t>(i));
    if (graph.runtime_ns.empty()) continue;
    if (fresh)
      found.runtime_ns.push_back(graph.runtime_ns[i]);
    else
      found.runtime_ns[entry->second] = std::min(found.runtime_ns[entry->second], graph.runtime_ns[i]);
  }
  return found;
}

}  // namespace hone::options
