#include "options/layout_files.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_text.h"
#include "base/text.h"
#include "data/mapped_file.h"
#include "data/tpugraphs.h"
#include "options/safetensors.h"

namespace hone::options {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "hone-layouts-1";
constexpr const char* kPackedSuffix = ".layouts";

StoredTensor stored(const char* dtype, std::vector<int64_t> shape, const void* data, size_t bytes) {
  return {dtype, std::move(shape), std::string(static_cast<const char*>(data), bytes)};
}

// One tensor of a mapped safetensors file.
std::span<const uint8_t> mapped_tensor(const nlohmann::json& header, const char* name, const char* dtype,
                                       std::span<const uint8_t> data, const std::string& path) {
  const std::string where = path + ", " + name;
  try {
    const nlohmann::json& entry = header.at(name);
    const auto begin = entry.at("data_offsets").at(0).get<uint64_t>();
    const auto end = entry.at("data_offsets").at(1).get<uint64_t>();
    if (entry.at("dtype") != dtype) throw Error("the array has another type", where);
    if (begin > end || end > data.size()) throw Error("the array lies outside the file", where);
    return data.subspan(begin, end - begin);
  } catch (const nlohmann::json::exception&) {
    throw Error("the array is missing or its description is invalid", where);
  }
}

template <class T>
std::vector<T> copied(std::span<const uint8_t> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

bool is_layout_file(const fs::path& path) { return path.extension() == ".npz" || path.extension() == kPackedSuffix; }

// Nodes and edges, which both collections have. Named after the file until the check, for its errors.
ConfigGraph nodes_of(TpuGraph& read, const std::string& path) {
  ConfigGraph graph;
  graph.name = path;
  graph.node_opcode = std::move(read.node_opcode);
  graph.node_feat = std::move(read.node_feat);
  mark_absent_layouts(graph.node_feat);
  graph.edges.assign(read.edge_index.begin(), read.edge_index.end());
  return graph;
}

// A file of the tile collection. The run times of one kernel come from several sessions and are comparable only as ratios to
// their session's default.
ConfigGraph read_tile_npz(const std::string& path) {
  TpuGraph read = read_tpu_graph(path);
  ConfigGraph graph = nodes_of(read, path);
  graph.tiles = std::move(read.config_feat);
  if (graph.tiles.empty()) throw Error("no configuration", path + ": array 'config_feat'");
  if (!read.hidden())
    for (size_t i = 0; i < read.runtime_ns.size(); ++i)
      graph.runtime_ns.push_back(read.runtime_ns[i] * read.normalizer_ns[0] / read.normalizer_ns[i]);
  check(graph);
  graph.name = std::move(read.name);
  return graph;
}

ConfigGraph read_any(const fs::path& path, const std::string& name, const std::string& cache_dir) {
  ConfigGraph graph;
  if (path.extension() == kPackedSuffix) {
    graph = open_packed_layouts(path.string());
  } else if (cache_dir.empty() || NpzFile(path.string()).has("config_feat")) {  // tiles are small
    graph = read_layout_npz(path.string());
  } else {
    const fs::path packed = fs::path(cache_dir) / (path.stem().string() + "-" +
                                                   hash_hex(fs::absolute(path).string()).substr(0, 8) + kPackedSuffix);
    std::error_code none;
    if (!fs::exists(packed, none) || fs::last_write_time(packed, none) < fs::last_write_time(path, none)) {
      fs::create_directories(cache_dir, none);
      write_packed_layouts(packed.string(), read_layout_npz(path.string()));
    }
    graph = open_packed_layouts(packed.string());
  }
  graph.name = name;
  return graph;
}

}  // namespace

ConfigGraph read_layout_npz(const std::string& path) {
  const NpzFile file(path);
  if (!file.has("node_config_feat") && file.has("config_feat")) return read_tile_npz(path);
  std::vector<uint64_t> packed;
  TpuGraph read = stream_layout_graph(path, [&](std::span<const float> axes) {
    for (size_t at = 0; at < axes.size(); at += kConfigAxes) {
      ConfigAxes row;
      for (int i = 0; i < kConfigAxes; ++i) row[i] = static_cast<int8_t>(axes[at + i]);
      packed.push_back(pack_axes(row));
    }
  });
  ConfigGraph graph = nodes_of(read, path);
  graph.config_nodes.assign(read.node_config_ids.begin(), read.node_config_ids.end());
  graph.configs = PackedConfigs::hold(std::move(packed));
  if (!read.hidden()) graph.runtime_ns = std::move(read.runtime_ns);
  check(graph);
  graph.name = std::move(read.name);
  return graph;
}

void write_packed_layouts(const std::string& path, const ConfigGraph& graph) {
  TensorFile file;
  if (graph.is_tile()) throw InternalError("tiles have no packed form");
  file.metadata = {{"format", kFormat}, {"name", graph.name}};
  const int64_t n = graph.nodes(), edges = static_cast<int64_t>(graph.edges.size()) / 2;
  const auto measured = static_cast<int64_t>(graph.runtime_ns.size());
  const auto put = [&](const char* name, const char* dtype, std::vector<int64_t> shape, const auto& values) {
    file.tensors[name] = stored(dtype, std::move(shape), values.data(), values.size() * sizeof(values[0]));
  };
  // Tensors are stored in the order of their names: 8-byte types come first, so that they begin at multiples of 8.
  put("a_configs", "I64", {graph.configurations(), graph.configurable()}, graph.configs.values);
  put("b_config_runtime", "F64", {measured}, graph.runtime_ns);
  put("edge_index", "I32", {edges, 2}, graph.edges);
  put("node_config_ids", "I32", {graph.configurable()}, graph.config_nodes);
  put("node_feat", "F32", {n, kNodeFeatures}, graph.node_feat);
  put("node_opcode", "U8", {n}, graph.node_opcode);
  write_safetensors(path, file);
}

ConfigGraph open_packed_layouts(const std::string& path) {
  const auto file = std::make_shared<const MappedFile>(path);
  const std::span<const uint8_t> bytes = file->bytes();
  uint64_t length = 0;
  if (bytes.size() > 8) std::memcpy(&length, bytes.data(), 8);
  if (length == 0 || length > bytes.size() - 8) throw Error("not packed layouts", path);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8, length);
  const auto header = nlohmann::json::parse(shallow_json(text), nullptr, false);
  const nlohmann::json none = nlohmann::json::object();
  const nlohmann::json& metadata =
      header.is_object() && header.contains("__metadata__") ? header["__metadata__"] : none;
  const auto text_of = [&](const char* key, const std::string& otherwise) {
    const auto found = metadata.find(key);
    return found != metadata.end() && found->is_string() ? found->get<std::string>() : otherwise;
  };
  if (!metadata.is_object() || text_of("format", "") != kFormat) throw Error("not packed layouts", path);
  const std::span<const uint8_t> data = bytes.subspan(8 + length);
  ConfigGraph graph;
  graph.name = path;
  const auto configs = mapped_tensor(header, "a_configs", "I64", data, path);
  if (reinterpret_cast<uintptr_t>(configs.data()) % 8 != 0) throw Error("packed layouts are not aligned", path);
  graph.configs = {file, {reinterpret_cast<const uint64_t*>(configs.data()), configs.size() / 8}};
  graph.runtime_ns = copied<double>(mapped_tensor(header, "b_config_runtime", "F64", data, path));
  graph.edges = copied<int32_t>(mapped_tensor(header, "edge_index", "I32", data, path));
  graph.config_nodes = copied<int32_t>(mapped_tensor(header, "node_config_ids", "I32", data, path));
  graph.node_feat = copied<float>(mapped_tensor(header, "node_feat", "F32", data, path));
  graph.node_opcode = copied<uint8_t>(mapped_tensor(header, "node_opcode", "U8", data, path));
  check(graph);
  graph.name = text_of("name", fs::path(path).stem().string());
  return graph;
}

std::vector<ConfigGraph> read_layout_data(const std::string& path, const std::string& cache_dir) {
  std::error_code none;
  std::vector<ConfigGraph> graphs;
  if (!fs::is_directory(path, none)) {
    graphs.push_back(read_any(path, fs::path(path).stem().string(), cache_dir));
    return graphs;
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file() && is_layout_file(entry.path())) files.push_back(entry.path());
  if (files.empty()) throw Error("no layout data (.npz or .layouts files)", path);
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files)
    graphs.push_back(read_any(file, fs::relative(file, path).replace_extension().string(), cache_dir));
  return graphs;
}

}  // namespace hone::options
