#include "data/tpugraphs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "data/zip.h"
#include "features/columns.h"
#include "features/encode.h"
#include "features/opcodes.h"

namespace hone {
namespace {

using features::kTpuGraphsFeatures;

constexpr int kMaxAxis = 5;  // layouts have at most six axes
constexpr const char* kLayoutConfigs = "node_config_feat";
constexpr const char* kEdges = "edge_index";
constexpr uint64_t kPieceBytes = 8 << 20;  // of streamed configurations

template <class To, class From>
void append(const NamedArray& array, std::vector<To>& out) {
  const size_t count = array.bytes.size() / sizeof(From);
  out.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, array.bytes.data() + i * sizeof(From), sizeof(From));
    out.push_back(static_cast<To>(value));
  }
}

template <class To>
bool append_integers(const NamedArray& array, std::vector<To>& out) {
  const std::string& t = array.type;
  if (t == "u8" || t == "pred")
    append<To, uint8_t>(array, out);
  else if (t == "s8")
    append<To, int8_t>(array, out);
  else if (t == "s16")
    append<To, int16_t>(array, out);
  else if (t == "u16")
    append<To, uint16_t>(array, out);
  else if (t == "s32")
    append<To, int32_t>(array, out);
  else if (t == "u32")
    append<To, uint32_t>(array, out);
  else if (t == "s64")
    append<To, int64_t>(array, out);
  else if (t == "u64")
    append<To, uint64_t>(array, out);
  else
    return false;
  return true;
}

// One file's arrays, read by name with the expected shape. -1 is any size.
class Reader {
 public:
  Reader(std::span<const NamedArray> arrays, const std::string& where) : arrays_(arrays), where_(where) {}

  bool has(const std::string& name) const { return find(name) != nullptr; }

  [[noreturn]] void fail(const std::string& name, const std::string& what) const {
    throw Error(what, fmt::format("{}: array '{}'", where_, name));
  }

  std::vector<int64_t> integers(const std::string& name, const std::vector<int64_t>& dims) const {
    const NamedArray& array = shaped(name, dims);
    std::vector<int64_t> out;
    if (!append_integers(array, out)) fail(name, fmt::format("it holds {}, integers are expected", array.type));
    return out;
  }

  template <class To>
  std::vector<To> numbers(const std::string& name, const std::vector<int64_t>& dims) const {
    const NamedArray& array = shaped(name, dims);
    std::vector<To> out;
    if (array.type == "f32")
      append<To, float>(array, out);
    else if (array.type == "f64")
      append<To, double>(array, out);
    else if (!append_integers(array, out))
      fail(name, fmt::format("it holds {}, numbers are expected", array.type));
    for (size_t i = 0; i < out.size(); ++i)
      if (!std::isfinite(out[i])) fail(name, fmt::format("value {} is not a number", i));
    return out;
  }

  // The number of rows of the array.
  int64_t rows(const std::string& name) const {
    const NamedArray& array = require(name);
    if (array.dims.empty()) fail(name, "it is a single value");
    return array.dims[0];
  }

  void in_range(const std::string& name, const std::vector<int64_t>& values, int64_t end, const char* what) const {
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i] < 0 || values[i] >= end)
        fail(name, fmt::format("value {} is {}, there are {} {}", i, values[i], end, what));
  }

 private:
  const NamedArray* find(const std::string& name) const {
    for (const NamedArray& array : arrays_)
      if (array.name == name) return &array;
    return nullptr;
  }

  const NamedArray& require(const std::string& name) const {
    const NamedArray* array = find(name);
    if (array == nullptr) fail(name, "the array is missing");
    return *array;
  }

  const NamedArray& shaped(const std::string& name, const std::vector<int64_t>& dims) const {
    const NamedArray& array = require(name);
    bool fits = dims.empty() || array.dims.size() == dims.size();
    for (size_t i = 0; fits && i < dims.size(); ++i) fits = dims[i] < 0 || array.dims[i] == dims[i];
    if (!fits) fail(name, fmt::format("its shape is {}, {} is expected", text(array.dims), text(dims)));
    return array;
  }

  static std::string text(const std::vector<int64_t>& dims) {
    std::string out = "[";
    for (int64_t dim : dims) out += (out.size() > 1 ? ", " : "") + (dim < 0 ? std::string("any") : std::to_string(dim));
    return out + "]";
  }

  std::span<const NamedArray> arrays_;
  const std::string& where_;
};

void read_graph(const Reader& in, TpuGraph& graph) {
  const std::vector<int64_t> opcodes = in.integers("node_opcode", {-1});
  const auto n = static_cast<int64_t>(opcodes.size());
  if (n == 0) in.fail("node_opcode", "the graph has no nodes");
  for (size_t i = 0; i < opcodes.size(); ++i) {
    if (opcodes[i] <= 0 || opcodes[i] >= features::kOpcodeCount ||
        features::opcode_name(static_cast<int>(opcodes[i])) == "unknown")
      in.fail("node_opcode", fmt::format("node {} has the unknown opcode id {}", i, opcodes[i]));
    graph.node_opcode.push_back(static_cast<uint8_t>(opcodes[i]));
  }
  graph.node_feat = in.numbers<float>("node_feat", {n, kTpuGraphsFeatures});
  graph.edge_index = in.integers(kEdges, {-1, 2});
  in.in_range(kEdges, graph.edge_index, n, "nodes");
}

void read_runtimes(const Reader& in, const char* name, int64_t configurations, std::vector<double>& out) {
  out = in.numbers<double>(name, {configurations});
  for (size_t i = 0; i < out.size(); ++i)
    if (out[i] < 0) in.fail(name, fmt::format("the run time of configuration {} is negative", i));
}

void read_configurable(const Reader& in, TpuGraph& graph) {
  const int64_t n = graph.nodes();
  graph.node_splits = in.integers("node_splits", {});  // [k] or [1, k]
  const auto& splits = graph.node_splits;
  if (splits.empty() || splits.front() < 0 || splits.back() > n || !std::is_sorted(splits.begin(), splits.end()))
    in.fail("node_splits", fmt::format("its values do not ascend from 0 to the {} nodes", n));
  graph.node_config_ids = in.integers("node_config_ids", {-1});
  in.in_range("node_config_ids", graph.node_config_ids, n, "nodes");
  const std::set<int64_t> distinct(graph.node_config_ids.begin(), graph.node_config_ids.end());
  if (distinct.size() != graph.node_config_ids.size()) in.fail("node_config_ids", "a node occurs twice");
}

// Checked rows of node_config_feat; `first` is the index of the first.
std::vector<float> layout_axes(const Reader& in, int64_t first, int64_t nodes) {
  std::vector<float> axes = in.numbers<float>(kLayoutConfigs, {-1, nodes, kLayoutConfigFeatures});
  for (size_t i = 0; i < axes.size(); ++i) {
    const float axis = axes[i];
    if (axis < -1 || axis > kMaxAxis || axis != std::floor(axis))
      in.fail(kLayoutConfigs,
              fmt::format("configuration {} holds {}: a layout's axis is -1 to {}",
                          first + static_cast<int64_t>(i) / (nodes * kLayoutConfigFeatures), axis, kMaxAxis));
  }
  return axes;
}

void read_layouts(const Reader& in, TpuGraph& graph) {
  read_configurable(in, graph);
  const int64_t configurations = in.rows(kLayoutConfigs);
  graph.config_feat = layout_axes(in, 0, static_cast<int64_t>(graph.node_config_ids.size()));
  read_runtimes(in, "config_runtime", configurations, graph.runtime_ns);
}

void read_tiles(const Reader& in, TpuGraph& graph) {
  const int64_t configurations = in.rows("config_feat");
  graph.config_feat = in.numbers<float>("config_feat", {configurations, kTileConfigFeatures});
  read_runtimes(in, "config_runtime", configurations, graph.runtime_ns);
  read_runtimes(in, "config_runtime_normalizers", configurations, graph.normalizer_ns);
  if (graph.hidden()) return;
  for (size_t i = 0; i < graph.normalizer_ns.size(); ++i)
    if (graph.normalizer_ns[i] == 0)
      in.fail("config_runtime_normalizers", fmt::format("the value of configuration {} is 0", i));
}

template <class To, class From>
NamedArray array_of(const char* name, const char* type, std::vector<int64_t> dims, const std::vector<From>& values) {
  NamedArray array{name, type, std::move(dims), std::vector<uint8_t>(values.size() * sizeof(To))};
  for (size_t i = 0; i < values.size(); ++i) {
    To value;
    if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>)
      value = static_cast<To>(std::llround(values[i]));
    else
      value = static_cast<To>(values[i]);
    std::memcpy(array.bytes.data() + i * sizeof(To), &value, sizeof(To));
  }
  return array;
}

// edge_index as an .npy file whose elements are column-major: all users, then all operands.
std::vector<uint8_t> edges_by_column(const TpuGraph& graph) {
  std::vector<int64_t> columns;
  for (size_t column = 0; column < 2; ++column)
    for (size_t e = column; e < graph.edge_index.size(); e += 2) columns.push_back(graph.edge_index[e]);
  std::string header = fmt::format("{{'descr': '<i8', 'fortran_order': True, 'shape': ({}, 2), }}", graph.edges());
  header.append(127 - 10 - header.size(), ' ');  // the elements begin at a multiple of 64
  header += '\n';
  const std::string start = std::string("\x93NUMPY\x01", 7) + '\0' + static_cast<char>(header.size()) + '\0' + header;
  std::vector<uint8_t> file(start.begin(), start.end());
  const auto* bytes = reinterpret_cast<const uint8_t*>(columns.data());
  file.insert(file.end(), bytes, bytes + columns.size() * sizeof(int64_t));
  return file;
}

// Takes the columns and edges of an encoded graph. Throws Error for unknown opcodes.
void take_graph(features::EncodedGraph encoded, TpuGraph& graph, const std::string& where) {
  const auto unknown = std::find(encoded.opcodes.begin(), encoded.opcodes.end(), uint8_t{0});
  if (unknown != encoded.opcodes.end())
    throw Error(fmt::format("node {} has an opcode the data set has no number for", unknown - encoded.opcodes.begin()),
                where);
  graph.node_opcode = std::move(encoded.opcodes);
  graph.node_feat = std::move(encoded.node_features);
  graph.edge_index = std::move(encoded.edge_index);
  graph.node_splits = std::move(encoded.node_splits);
}

void take_layout_runs(const features::TuningModule& module, TpuGraph& graph, const std::string& where) {
  for (size_t i = 0; i < module.runs.size(); ++i) {
    const features::TuningRun& run = module.runs[i];
    if (run.failed) continue;
    if (run.layouts.size() != graph.node_config_ids.size())
      throw Error(fmt::format("configuration {} has layouts for {} nodes, {} are configurable", i, run.layouts.size(),
                              graph.node_config_ids.size()),
                  where);
    const std::vector<float> encoded = features::encode_layout_config(run);
    graph.config_feat.insert(graph.config_feat.end(), encoded.begin(), encoded.end());
    graph.runtime_ns.push_back(static_cast<double>(run.runtime_ns));
  }
}

void take_tile_runs(const features::TuningModule& module, TpuGraph& graph, const std::string& where) {
  double default_ns = 0;
  for (const features::TuningRun& run : module.runs) {
    if (run.failed) continue;
    const std::vector<float> encoded = features::encode_tile_config(run.tile);
    graph.config_feat.insert(graph.config_feat.end(), encoded.begin(), encoded.end());
    graph.runtime_ns.push_back(static_cast<double>(run.runtime_ns));
    if (run.is_default) default_ns = static_cast<double>(run.runtime_ns);
  }
  if (default_ns <= 0 && !graph.runtime_ns.empty())
    throw Error("no run of the default tile: nothing to compare the others with", where);
  graph.normalizer_ns.assign(graph.runtime_ns.size(), default_ns);
}

}  // namespace

const char* tpu_collection_name(TpuCollection collection) {
  return collection == TpuCollection::Layout ? "layout" : "tile";
}

bool TpuGraph::hidden() const {
  return std::all_of(runtime_ns.begin(), runtime_ns.end(), [](double ns) { return ns == 0; });
}

TpuGraph decode_tpu_graph(std::span<const NamedArray> arrays, const std::string& name, const std::string& where) {
  const Reader in(arrays, where);
  TpuGraph graph;
  graph.name = name;
  const bool layout = in.has(kLayoutConfigs);
  if (!layout && !in.has("config_feat"))
    throw Error("it has neither array 'node_config_feat' (layout) nor array 'config_feat' (tile)", where,
                "give an .npz file of the TpuGraphs data set");
  graph.collection = layout ? TpuCollection::Layout : TpuCollection::Tile;
  read_graph(in, graph);
  if (layout)
    read_layouts(in, graph);
  else
    read_tiles(in, graph);
  return graph;
}

TpuGraph read_tpu_graph(const std::string& path) {
  return decode_tpu_graph(read_npz(path), std::filesystem::path(path).stem().string(), path);
}

TpuGraph stream_layout_graph(const std::string& path, const LayoutConfigSink& sink) {
  const NpzFile file(path);
  std::vector<NamedArray> arrays;
  for (const std::string& name : file.names())
    if (name != kLayoutConfigs) arrays.push_back(file.read(name));
  const Reader in(arrays, path);
  TpuGraph graph;
  graph.name = std::filesystem::path(path).stem().string();
  read_graph(in, graph);
  if (!file.has(kLayoutConfigs)) in.fail(kLayoutConfigs, "the array is missing");
  read_configurable(in, graph);
  int64_t configurations = 0;
  file.read_pieces(kLayoutConfigs, kPieceBytes, [&](const NamedArray& piece) {
    sink(layout_axes(Reader({&piece, 1}, path), configurations, static_cast<int64_t>(graph.node_config_ids.size())));
    configurations += piece.dims[0];
  });
  read_runtimes(in, "config_runtime", configurations, graph.runtime_ns);
  return graph;
}

std::vector<NamedArray> tpu_graph_arrays(const TpuGraph& graph) {
  const int64_t n = graph.nodes(), c = graph.configurations();
  const auto nc = static_cast<int64_t>(graph.node_config_ids.size());
  std::vector<NamedArray> out;
  out.push_back(array_of<float>("node_feat", "f32", {n, kTpuGraphsFeatures}, graph.node_feat));
  out.push_back(array_of<uint8_t>("node_opcode", "u8", {n}, graph.node_opcode));
  out.push_back(array_of<int64_t>(kEdges, "s64", {graph.edges(), 2}, graph.edge_index));
  if (graph.collection == TpuCollection::Tile) {
    out.push_back(array_of<float>("config_feat", "f32", {c, kTileConfigFeatures}, graph.config_feat));
    out.push_back(array_of<int64_t>("config_runtime", "s64", {c}, graph.runtime_ns));
    out.push_back(array_of<int64_t>("config_runtime_normalizers", "s64", {c}, graph.normalizer_ns));
    return out;
  }
  const auto splits = static_cast<int64_t>(graph.node_splits.size());
  out.push_back(array_of<float>("node_config_feat", "f32", {c, nc, kLayoutConfigFeatures}, graph.config_feat));
  out.push_back(array_of<int64_t>("node_config_ids", "s64", {nc}, graph.node_config_ids));
  out.push_back(array_of<int64_t>("config_runtime", "s64", {c}, graph.runtime_ns));
  out.push_back(array_of<int64_t>("node_splits", "s64", {1, splits}, graph.node_splits));
  return out;
}

std::vector<uint8_t> encode_tpu_graph(const TpuGraph& graph) {
  ZipWriter writer(/*deflated=*/true);
  for (const NamedArray& array : tpu_graph_arrays(graph))  // NumPy calls an array of one edge row-major
    writer.add(array.name + ".npy",
               array.name == kEdges && graph.edges() > 1 ? edges_by_column(graph) : encode_npy(array));
  return writer.finish();
}

void write_tpu_graph(const std::string& path, const TpuGraph& graph) {
  const std::vector<uint8_t> file = encode_tpu_graph(graph);
  write_file(path, {reinterpret_cast<const char*>(file.data()), file.size()});
}

TpuGraph tpu_graph_of(const HloGraph& module, std::vector<int64_t> configurable, const std::string& name,
                      const std::string& where) {
  TpuGraph graph;
  graph.collection = TpuCollection::Layout;
  graph.name = name;
  take_graph(features::encode_graph(module, kTpuGraphsFeatures), graph, where);
  graph.node_config_ids = std::move(configurable);
  return graph;
}

TpuGraph tpu_graph_of(const features::TuningModule& module, const std::string& name, const std::string& where) {
  if (!module.configurable.empty()) {
    TpuGraph graph = tpu_graph_of(module.graph, module.configurable, name, where);
    take_layout_runs(module, graph, where);
    return graph;
  }
  TpuGraph graph;
  graph.collection = TpuCollection::Tile;
  graph.name = name;
  take_graph(features::encode_tile_graph(module.graph), graph, where);
  graph.node_splits.clear();
  take_tile_runs(module, graph, where);
  return graph;
}

}  // namespace hone
