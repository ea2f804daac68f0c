#include "data/tpugraphs.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "base/files.h"
#include "data/zip.h"
#include "features/tpugraphs.h"
#include "tests/skip.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

const fs::path kCorpus = fs::path(HONE_SOURCE_DIR) / "../shared/corpus";
const fs::path kProtos =
    kCorpus / "google-research-datasets+tpu_graphs/tpu_graphs/process_data/tensorflow_ops/testdata";
const fs::path kArrays = kCorpus / "timxor+predict_ai_model_runtime_kaggle/data/npz";

bool missing(const fs::path& file) {
  if (fs::exists(file)) return false;
  skip_case("no corpus file " + file.filename().string() + " at ../shared/corpus");
  return true;
}

// Three nodes (parameter, parameter, dot), the last configurable, two configurations.
TpuGraph small_layout() {
  TpuGraph graph;
  graph.collection = TpuCollection::Layout;
  graph.name = "small";
  graph.node_opcode = {63, 63, 34};
  for (int i = 0; i < 3 * 140; ++i) graph.node_feat.push_back(0.5f * static_cast<float>(i));
  graph.edge_index = {2, 0, 2, 1};
  graph.node_splits = {0, 3};
  graph.node_config_ids = {2};
  graph.config_feat.assign(36, -1);
  graph.config_feat[0] = 1, graph.config_feat[1] = 0;
  graph.runtime_ns = {1500, 2500};
  return graph;
}

TpuGraph small_tile() {
  TpuGraph graph = small_layout();
  graph.collection = TpuCollection::Tile;
  graph.node_splits.clear();
  graph.node_config_ids.clear();
  graph.config_feat.assign(48, 2);
  graph.normalizer_ns = {1000, 1000};
  return graph;
}

NamedArray& array_named(std::vector<NamedArray>& arrays, const std::string& name) {
  for (NamedArray& array : arrays)
    if (array.name == name) return array;
  throw std::logic_error(name);
}

template <class T>
void set(NamedArray& array, size_t index, T value) {
  std::memcpy(array.bytes.data() + index * sizeof(T), &value, sizeof(T));
}

// Decoding fails, and the error names the file, the array and the reason.
template <class Spoil>
void refused(TpuGraph graph, const std::string& name, const std::string& why, Spoil spoil) {
  std::vector<NamedArray> arrays = tpu_graph_arrays(graph);
  spoil(arrays);
  try {
    decode_tpu_graph(arrays, "small", "small.npz");
    FAIL_CHECK("accepted, expected: " << why);
  } catch (const Error& error) {
    CHECK(error.where() == "small.npz: array '" + name + "'");
    CHECK_THAT(error.what(), Catch::Contains(why));
  }
}

}  // namespace

TEST_CASE("TpuGraphs files come back as they were written", "[data]") {
  const TempDir folder;
  const std::string path = (folder.path() / "small.npz").string();
  for (const TpuGraph& graph : {small_layout(), small_tile()}) {
    write_tpu_graph(path, graph);
    CHECK(read_tpu_graph(path) == graph);
  }
  TpuGraph none = small_layout();
  none.config_feat.clear();
  none.runtime_ns.clear();
  write_tpu_graph(path, none);
  CHECK(read_tpu_graph(path) == none);
  CHECK(none.hidden());
}

TEST_CASE("TpuGraphs arrays may have other widths than in the description", "[data]") {
  std::vector<NamedArray> arrays = tpu_graph_arrays(small_layout());
  NamedArray& opcodes = array_named(arrays, "node_opcode");
  opcodes.type = "s32";
  opcodes.bytes = std::vector<uint8_t>{63, 0, 0, 0, 63, 0, 0, 0, 34, 0, 0, 0};
  NamedArray& splits = array_named(arrays, "node_splits");
  CHECK(splits.dims == std::vector<int64_t>{1, 2});  // as the data set's own files
  splits.dims = {2};
  NamedArray& runtimes = array_named(arrays, "config_runtime");
  runtimes.type = "f64";
  set(runtimes, 0, 1500.0), set(runtimes, 1, 2500.0);
  NamedArray& configs = array_named(arrays, "node_config_feat");
  configs.type = "s8";
  configs.bytes.assign(36, 0xff);
  configs.bytes[0] = 1, configs.bytes[1] = 0;
  CHECK(decode_tpu_graph(arrays, "small", "f") == small_layout());
}

TEST_CASE("invalid TpuGraphs files are refused with file and array", "[data]") {
  const TpuGraph layout = small_layout(), tile = small_tile();
  for (const char* name :
       {"node_feat", "node_opcode", "edge_index", "node_config_ids", "node_splits", "config_runtime"})
    refused(layout, name, "missing",
            [&](auto& arrays) { std::erase_if(arrays, [&](const NamedArray& a) { return a.name == name; }); });
  refused(tile, "config_runtime_normalizers", "missing", [](auto& arrays) { arrays.pop_back(); });
  refused(layout, "node_opcode", "unknown opcode id 255",
          [](auto& arrays) { array_named(arrays, "node_opcode").bytes[1] = 255; });
  refused(layout, "node_opcode", "unknown opcode id 0",
          [](auto& arrays) { array_named(arrays, "node_opcode").bytes[0] = 0; });
  refused(layout, "node_opcode", "it holds f32", [](auto& arrays) {
    NamedArray& array = array_named(arrays, "node_opcode");
    array.type = "f32";
    array.bytes.resize(12);
  });
  refused(layout, "node_feat", "it holds c64", [](auto& arrays) {
    NamedArray& array = array_named(arrays, "node_feat");
    array.type = "c64";
    array.bytes.resize(array.bytes.size() * 2);
  });
  refused(layout, "node_feat", "its shape is [3, 70], [3, 140] is expected", [](auto& arrays) {
    NamedArray& array = array_named(arrays, "node_feat");
    array.dims[1] = 70;
    array.bytes.resize(array.bytes.size() / 2);
  });
  refused(layout, "edge_index", "value 1 is 3, there are 3 nodes",
          [](auto& arrays) { set<int64_t>(array_named(arrays, "edge_index"), 1, 3); });
  refused(layout, "node_config_ids", "value 0 is -1",
          [](auto& arrays) { set<int64_t>(array_named(arrays, "node_config_ids"), 0, -1); });
  refused(layout, "node_config_feat", "configuration 0 holds 6",
          [](auto& arrays) { set<float>(array_named(arrays, "node_config_feat"), 7, 6); });
  refused(layout, "node_splits", "ascend",
          [](auto& arrays) { set<int64_t>(array_named(arrays, "node_splits"), 1, 9); });
  refused(layout, "config_runtime", "negative",
          [](auto& arrays) { set<int64_t>(array_named(arrays, "config_runtime"), 0, -5); });
  refused(layout, "config_runtime", "value 1 is not a number", [](auto& arrays) {
    NamedArray& array = array_named(arrays, "config_runtime");
    array.type = "f64";
    set(array, 0, 1.0), set(array, 1, std::numeric_limits<double>::quiet_NaN());
  });
  refused(layout, "config_runtime", "its shape is [1], [2]", [](auto& arrays) {
    NamedArray& array = array_named(arrays, "config_runtime");
    array.dims = {1};
    array.bytes.resize(8);
  });
  refused(tile, "config_runtime_normalizers", "is 0",
          [](auto& arrays) { set<int64_t>(array_named(arrays, "config_runtime_normalizers"), 1, 0); });
  const std::vector<NamedArray> other = {{"x", "u8", {1}, {1}}};
  CHECK_THROWS_WITH(decode_tpu_graph(other, "x", "x.npz"), Catch::Contains("node_config_feat"));
}

TEST_CASE("the tuning file and the data set's file of one program have the same graph", "[data]") {
  const fs::path file = kArrays / "layout/xla/default/valid/unet_3d.4x4.bf16.npz";
  if (missing(kProtos / "module_tuning_data_layout.pb") || missing(file)) return;
  const std::string bytes = read_file((kProtos / "module_tuning_data_layout.pb").string());
  const TpuGraph ours = tpu_graph_of(features::read_tuning_data(bytes).at(0), "unet_3d.4x4.bf16", "pb");
  const std::vector<NamedArray> written = tpu_graph_arrays(ours);
  int equal = 0;
  for (const NamedArray& theirs : read_npz(file.string()))
    for (const NamedArray& array : written) {
      if (array.name != theirs.name) continue;
      CHECK(array.type == theirs.type);
      if (array.name.rfind("config_runtime", 0) == 0 || array.name == "node_config_feat") continue;
      CHECK(array.bytes == theirs.bytes);
      CHECK(array.dims == theirs.dims);
      ++equal;
    }
  CHECK(equal == 5);                    // node_feat, node_opcode, edge_index, node_splits, node_config_ids
  CHECK(ours.configurations() == 112);  // 122, of which 10 failed
  const TempDir folder;
  const std::string path = (folder.path() / "unet_3d.4x4.bf16.npz").string();
  write_tpu_graph(path, ours);
  CHECK(read_tpu_graph(path) == ours);
}

TEST_CASE("every public file of the corpus is written again with the same arrays, byte for byte", "[data]") {
  if (missing(kArrays)) return;
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kArrays)) {
    if (entry.path().extension() != ".npz") continue;
    INFO(entry.path().filename());
    const std::string theirs = read_file(entry.path().string());
    const TpuGraph graph = read_tpu_graph(entry.path().string());
    const std::vector<uint8_t> ours = encode_tpu_graph(graph);
    const auto expected = list_zip({reinterpret_cast<const uint8_t*>(theirs.data()), theirs.size()}, "theirs");
    const auto written = list_zip(ours, "ours");
    REQUIRE(written.size() == expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {  // header too: type, shape and order of the elements
      INFO(expected[i].name);
      CHECK(written[i].name == expected[i].name);
      std::vector<uint8_t> a, b;
      CHECK(std::ranges::equal(unpack(written[i], a, "ours"), unpack(expected[i], b, "theirs")));
    }
    const TempDir folder;
    const std::string path = (folder.path() / entry.path().filename()).string();
    write_tpu_graph(path, graph);
    CHECK(read_tpu_graph(path) == graph);
    ++files;
  }
  CHECK(files == 8);
}

TEST_CASE("tiles of the tuning file become graphs of the tile collection", "[data]") {
  if (missing(kProtos / "op_tuning_data.pb")) return;
  const auto modules = features::read_tuning_data(read_file((kProtos / "op_tuning_data.pb").string()));
  int64_t configurations = 0;
  for (const auto& module : modules) {
    const TpuGraph graph = tpu_graph_of(module, "kernel", "pb");
    CHECK(graph.collection == TpuCollection::Tile);
    CHECK(graph.node_feat.size() == graph.node_opcode.size() * 140);
    CHECK(graph.config_feat.size() == graph.runtime_ns.size() * 24);
    for (int64_t end : graph.edge_index) CHECK((end >= 0 && end < graph.nodes()));
    configurations += graph.configurations();
  }
  CHECK(modules.size() == 15);
  CHECK(configurations > 700);
}

}  // namespace hone
