// The public files of the TpuGraphs data set (Phothilimthana et al., arXiv 2308.13490): one graph with its measured
// configurations per .npz file, in the layout and in the tile collections.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/npz.h"
#include "features/tpugraphs.h"

namespace hone {

inline constexpr int kLayoutConfigFeatures = 18;  // per configurable node: 6 axes of output, input and kernel
inline constexpr int kTileConfigFeatures = 24;

enum class TpuCollection : int8_t { Layout, Tile };
const char* tpu_collection_name(TpuCollection collection);  // "layout", "tile"

struct TpuGraph {
  TpuCollection collection{};
  std::string name;                      // of the file, without folder and extension
  std::vector<float> node_feat;          // [nodes, 140]
  std::vector<uint8_t> node_opcode;      // [nodes], features/opcodes.def
  std::vector<int64_t> edge_index;       // [edges, 2]: user, operand
  std::vector<int64_t> node_splits;      // layout: 0, ends of the segments, nodes
  std::vector<int64_t> node_config_ids;  // layout: [configurable nodes]
  std::vector<float> config_feat;        // layout: [configurations, configurable nodes, 18]; tile: [configurations, 24]
  std::vector<double> runtime_ns;        // [configurations]; all 0 if the data set hides them
  std::vector<double> normalizer_ns;     // tile: [configurations], run time of the default configuration

  int64_t nodes() const { return static_cast<int64_t>(node_opcode.size()); }
  int64_t edges() const { return static_cast<int64_t>(edge_index.size()) / 2; }
  int64_t configurations() const { return static_cast<int64_t>(runtime_ns.size()); }
  bool hidden() const;  // all run times are unknown
  bool operator==(const TpuGraph&) const = default;
};

// Reads a file of either collection. Integer and float arrays may have any width (the files differ from the data set's
// own description); shapes and values are checked. Throws Error with the file and the array for missing arrays, wrong
// types or shapes, unknown opcodes, indices out of range, and run times that are not numbers.
TpuGraph read_tpu_graph(const std::string& path);
TpuGraph decode_tpu_graph(std::span<const NamedArray> arrays, const std::string& name, const std::string& where);
// Consecutive configurations of a layout file: [any, configurable nodes, 18], every value an axis from -1 to 5.
using LayoutConfigSink = std::function<void(std::span<const float> axes)>;
// The same for a layout file whose configurations may not fit into memory: they are passed to `sink` as they are unpacked,
// and config_feat stays empty. Also throws Error for tile files.
TpuGraph stream_layout_graph(const std::string& path, const LayoutConfigSink& sink);

// The arrays with the types, the shapes and in the order of the data set's own files; run times are rounded to ns.
std::vector<NamedArray> tpu_graph_arrays(const TpuGraph& graph);
// The same as a compressed .npz file, in which edge_index is column-major, as in the data set's own files.
std::vector<uint8_t> encode_tpu_graph(const TpuGraph& graph);
void write_tpu_graph(const std::string& path, const TpuGraph& graph);  // errors as of write_npz

// One module of a tuning file: layouts if it has configurable nodes, else tiles (the graph is then the fused
// computation only). Failed runs are omitted. Throws Error for configurations that do not fit the module, opcodes
// unknown to the data set, and tiles without a default run.
TpuGraph tpu_graph_of(const features::TuningModule& module, const std::string& name, const std::string& where);
// The graph of a whole module with no configurations yet. `configurable`: indices of nodes.
TpuGraph tpu_graph_of(const HloGraph& module, std::vector<int64_t> configurable, const std::string& name,
                      const std::string& where);

}  // namespace hone
