// A program with its layout configurations, or a kernel with its tiles, as in TpuGraphs' files, and TGraph's preprocessing
// (Khizbullin et al. 2024, section 2.2). Plain data, without torch.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone::options {

// Widths of the TpuGraphs data set (github.com/google-research-datasets/tpu_graphs, README, "Features").
inline constexpr int kNodeFeatures = 140;     // of a node
inline constexpr int kNumericFeatures = 134;  // the first ones; the others are the layout of the node's output
inline constexpr int kLayoutAxes = 6;
inline constexpr int kConfigAxes = 18;    // of a configurable node: output, input and kernel, 6 axes each
inline constexpr int kTileFeatures = 24;  // of a configuration of the tile collection

// An axis is -1 (none) to 5. 18 axes are packed in one base-7 number below 2^51: digit = axis + 1, the first axis lowest.
using ConfigAxes = std::array<int8_t, kConfigAxes>;
uint64_t pack_axes(const ConfigAxes& axes);
ConfigAxes unpack_axes(uint64_t packed);

// [configurations, configurable nodes] packed axes, in memory or in a mapped file, which `owner` keeps alive.
struct PackedConfigs {
  std::shared_ptr<const void> owner;
  std::span<const uint64_t> values;
  static PackedConfigs hold(std::vector<uint64_t> values);
};

struct ConfigGraph {
  std::string name;
  std::vector<float> node_feat;       // [nodes, 140]; absent axes of the last six are -1, as in configurations
  std::vector<uint8_t> node_opcode;   // [nodes], TpuGraphs' numbers
  std::vector<int32_t> edges;         // [edges, 2]: user, operand
  std::vector<int32_t> config_nodes;  // [configurable nodes], distinct
  PackedConfigs configs;
  std::vector<float> tiles;        // [configurations, 24] of a kernel, which has no configurable nodes; else empty
  std::vector<double> runtime_ns;  // [configurations]; empty = not measured

  int64_t nodes() const { return static_cast<int64_t>(node_opcode.size()); }
  int64_t configurable() const { return static_cast<int64_t>(config_nodes.size()); }
  bool is_tile() const { return !tiles.empty(); }
  int64_t configurations() const {
    if (is_tile()) return static_cast<int64_t>(tiles.size()) / kTileFeatures;
    return config_nodes.empty() ? 0 : static_cast<int64_t>(configs.values.size()) / configurable();
  }
  std::span<const uint64_t> config(int64_t index) const {  // [configurable nodes]
    return configs.values.subspan(index * configurable(), configurable());
  }
  std::string_view config_bytes(int64_t index) const;  // equal for equal configurations of either kind
};

// Throws Error (where = graph's name and the array) for inconsistent sizes, nodes outside the graph, duplicate configurable
// nodes, unknown opcodes, features and run times that are not finite, and negative run times.
void check(const ConfigGraph& graph);

// The last six features are padded with 0, which is also an axis (section 2.2.4): axes beyond the rank become -1, and so do
// all six if a node of rank two or more has no permutation. Rows that contain -1 are not changed.
void mark_absent_layouts(std::vector<float>& node_feat);

// Configurable nodes, their neighbours, and the edges with a configurable node (section 2.2.1). Nodes keep their order;
// configurations and run times are shared with the original. A kernel with tiles is not changed.
ConfigGraph prune(const ConfigGraph& graph);

// [nodes], for each node the first one with the same features and opcode, of those that are configurable or of the others.
std::vector<int32_t> first_alike(const ConfigGraph& graph);

// Distinct configurations (section 2.2.2): the first of equal ones, with the least of their run times.
struct DistinctConfigs {
  std::vector<int32_t> index;      // ascending
  std::vector<double> runtime_ns;  // empty if the graph has none
};
DistinctConfigs distinct_configs(const ConfigGraph& graph);

}  // namespace hone::options
