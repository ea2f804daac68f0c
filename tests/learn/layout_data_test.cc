// Layout data before any network: packing, files, pruning, duplicates, parts, metrics.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/files.h"
#include "data/dataset.h"
#include "data/npz.h"
#include "options/layout_files.h"
#include "options/layout_parts.h"
#include "tests/learn/layout_graphs.h"
#include "tests/learn/torch_catch.h"
#include "tests/skip.h"

using namespace hone;
using namespace hone::learn;

namespace {

template <class T>
NamedArray array_of(const std::string& name, const std::string& type, std::vector<int64_t> dims,
                    const std::vector<T>& values) {
  NamedArray array{name, type, std::move(dims), {}};
  const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
  array.bytes.assign(bytes, bytes + values.size() * sizeof(T));
  return array;
}

// A graph of three nodes, two of them configurable, in the format of the public files.
std::vector<NamedArray> small_arrays() {
  std::vector<float> features(3 * 140, 0), configs;
  features[21] = 4, features[22] = 5;              // node 0: rank 2, no layout
  features[140 + 21] = 3, features[140 + 22] = 2;  // node 1: rank 2, {1,0}
  features[140 + 134] = 1;
  features[280 + 21] = 7;  // node 2: rank 1, {0}
  for (int i = 0; i < 2 * 2 * 18; ++i) configs.push_back(static_cast<float>(i % 7 - 1));
  return {array_of<float>("node_feat", "f32", {3, 140}, features),
          array_of<uint8_t>("node_opcode", "u8", {3}, {63, 34, 75}),
          array_of<int64_t>("edge_index", "s64", {2, 2}, {1, 0, 2, 1}),
          array_of<float>("node_config_feat", "f32", {2, 2, 18}, configs),
          array_of<int64_t>("node_config_ids", "s64", {2}, {1, 2}),
          array_of<int64_t>("config_runtime", "s64", {2}, {200, 100}),
          array_of<int64_t>("node_splits", "s64", {2}, {0, 3})};
}

void expect_error(const std::string& path, const std::string& word) {
  try {
    options::read_layout_npz(path);
    FAIL("no error about " << word);
  } catch (const Error& e) {
    CHECK_THAT(e.where() + ": " + e.what(), Catch::Contains(word));
    CHECK_THAT(e.where(), Catch::Contains(path));
  }
}

std::string corpus_file(const std::string& name) {
  const char* given = std::getenv("HONE_CORPUS");
  const std::filesystem::path corpus =
      given ? given : std::filesystem::path(__FILE__).parent_path() / "../../../shared/corpus";
  return (corpus / "timxor+predict_ai_model_runtime_kaggle/data/npz/layout" / name).string();
}

}  // namespace

TEST_CASE("axes are packed as digits of base 7") {
  options::ConfigAxes axes;
  axes.fill(-1);
  CHECK(options::pack_axes(axes) == 0);
  axes[0] = 0;
  CHECK(options::pack_axes(axes) == 1);
  axes[1] = 5;
  CHECK(options::pack_axes(axes) == 1 + 6 * 7);
  axes.fill(5);
  CHECK(options::pack_axes(axes) == 1628413597910448ull);  // 7^18 - 1
  Rng rng(1);
  for (int i = 0; i < 100; ++i) {
    for (int8_t& axis : axes) axis = static_cast<int8_t>(rng.below(7) - 1);
    CHECK(options::unpack_axes(options::pack_axes(axes)) == axes);
  }
}

TEST_CASE("absent layouts become -1, present ones stay") {
  std::vector<float> features(4 * options::kNodeFeatures, 0);
  float *scalar = &features[0], *none = &features[140], *matrix = &features[280], *vector = &features[420];
  none[21] = none[22] = none[23] = 4;
  matrix[21] = matrix[22] = 4, matrix[134] = 1;
  vector[21] = 4;
  options::mark_absent_layouts(features);
  const auto axes = [](const float* row) { return std::vector<float>(row + 134, row + 140); };
  CHECK(axes(scalar) == std::vector<float>{-1, -1, -1, -1, -1, -1});
  CHECK(axes(none) == std::vector<float>{-1, -1, -1, -1, -1, -1});
  CHECK(axes(matrix) == std::vector<float>{1, 0, -1, -1, -1, -1});
  CHECK(axes(vector) == std::vector<float>{0, -1, -1, -1, -1, -1});
  const std::vector<float> once = features;
  options::mark_absent_layouts(features);
  CHECK(features == once);
}

TEST_CASE("pruning keeps configurable nodes, their neighbours and the edges between") {
  options::ConfigGraph graph = chain_graph(12, 4, 1);
  graph.config_nodes = {5};
  graph.configs = options::PackedConfigs::hold({1, 2, 3, 4});
  const options::ConfigGraph small = options::prune(graph);
  CHECK(small.nodes() == 3);  // 4, 5, 6
  CHECK(small.config_nodes == std::vector<int32_t>{1});
  CHECK(small.edges == std::vector<int32_t>{1, 0, 2, 1});
  CHECK(small.node_opcode == std::vector<uint8_t>{34, 75, 34});
  CHECK(
      std::equal(small.node_feat.begin(), small.node_feat.end(), graph.node_feat.begin() + 4 * options::kNodeFeatures));
  CHECK(small.runtime_ns == graph.runtime_ns);
  options::check(small);
}

TEST_CASE("equal configurations count once, with the least run time") {
  options::ConfigGraph graph = chain_graph(4, 5, 1);
  graph.configs = options::PackedConfigs::hold({1, 2, 3, 4, 1, 2, 5, 6, 3, 4});
  graph.runtime_ns = {50, 40, 30, 20, 10};
  const options::DistinctConfigs distinct = options::distinct_configs(graph);
  CHECK(distinct.index == std::vector<int32_t>{0, 1, 3});
  CHECK(distinct.runtime_ns == std::vector<double>{30, 10, 20});
}

TEST_CASE("nodes with equal features are alike if both or neither are configurable") {
  options::ConfigGraph graph =
      chain_graph(8, 2, 1);  // 0, 3 and 6 are configurable, the opcodes of even nodes are equal
  const auto copy = [&](int64_t from, int64_t to) {
    std::copy_n(&graph.node_feat[from * options::kNodeFeatures], options::kNodeFeatures,
                &graph.node_feat[to * options::kNodeFeatures]);
  };
  copy(0, 6);
  copy(0, 2);
  copy(2, 4);
  copy(2, 5);
  CHECK(options::first_alike(graph) == std::vector<int32_t>{0, 1, 2, 3, 2, 5, 0, 7});
}

TEST_CASE("a layout file is read, packed and mapped to the same graph") {
  const TempDir folder;
  const std::string path = (folder.path() / "small.npz").string();
  for (bool compressed : {false, true}) {
    write_npz(path, small_arrays(), compressed);
    const options::ConfigGraph graph = options::read_layout_npz(path);
    CHECK(graph.name == "small");
    CHECK(graph.nodes() == 3);
    CHECK(graph.configurations() == 2);
    CHECK(graph.edges == std::vector<int32_t>{1, 0, 2, 1});
    CHECK(graph.runtime_ns == std::vector<double>{200, 100});
    CHECK(graph.node_feat[134] == -1);
    CHECK(graph.node_feat[140 + 134] == 1);
    const options::ConfigAxes axes = options::unpack_axes(graph.config(1)[0]);  // value 36 of the flat array first
    for (int i = 0; i < options::kConfigAxes; ++i) CHECK(axes[i] == (36 + i) % 7 - 1);
    const std::string packed = (folder.path() / "small.layouts").string();
    options::write_packed_layouts(packed, graph);
    const options::ConfigGraph again = options::open_packed_layouts(packed);
    CHECK(again.name == "small");
    CHECK(again.node_feat == graph.node_feat);
    CHECK(again.node_opcode == graph.node_opcode);
    CHECK(again.edges == graph.edges);
    CHECK(again.config_nodes == graph.config_nodes);
    CHECK(again.runtime_ns == graph.runtime_ns);
    CHECK(std::equal(again.configs.values.begin(), again.configs.values.end(), graph.configs.values.begin()));
    std::filesystem::remove(packed);
  }
}

TEST_CASE("a folder is read in order, through a cache too") {
  const TempDir folder;
  std::filesystem::create_directories(folder.path() / "data/b");
  write_npz((folder.path() / "data/b/x.npz").string(), small_arrays());
  write_npz((folder.path() / "data/a.npz").string(), small_arrays());
  const std::string data = (folder.path() / "data").string(), cache = (folder.path() / "cache").string();
  for (const std::string& by : {std::string(), cache, cache}) {
    const std::vector<options::ConfigGraph> graphs = options::read_layout_data(data, by);
    REQUIRE(graphs.size() == 2);
    CHECK(graphs[0].name == "a");
    CHECK(graphs[1].name == "b/x");
    CHECK(graphs[1].configurations() == 2);
  }
  CHECK_THROWS_AS(options::read_layout_data((folder.path() / "cache/nothing").string()), Error);
}

TEST_CASE("layout files that cannot be right are refused by file and array") {
  const TempDir folder;
  const std::string path = (folder.path() / "bad.npz").string();
  const auto write_with = [&](size_t which, const NamedArray& array) {
    std::vector<NamedArray> arrays = small_arrays();
    arrays[which] = array;
    write_npz(path, arrays, true);
  };
  for (size_t i = 0; i < small_arrays().size(); ++i) {
    std::vector<NamedArray> arrays = small_arrays();
    const std::string name = arrays[i].name;
    arrays.erase(arrays.begin() + static_cast<int64_t>(i));
    write_npz(path, arrays);
    expect_error(path, name);
  }
  write_with(1, array_of<uint8_t>("node_opcode", "u8", {3}, {63, 34, 200}));
  expect_error(path, "unknown opcode id 200");
  write_with(2, array_of<int64_t>("edge_index", "s64", {2, 2}, {1, 0, 3, 1}));
  expect_error(path, "edge_index");
  write_with(4, array_of<int64_t>("node_config_ids", "s64", {2}, {1, 3}));
  expect_error(path, "node_config_ids");
  write_with(4, array_of<int64_t>("node_config_ids", "s64", {2}, {1, 1}));
  expect_error(path, "twice");
  write_with(5, array_of<double>("config_runtime", "f64", {2}, {1, std::numeric_limits<double>::quiet_NaN()}));
  expect_error(path, "config_runtime");
  write_with(5, array_of<int64_t>("config_runtime", "s64", {3}, {1, 2, 3}));
  expect_error(path, "config_runtime");
  write_with(0, array_of<float>("node_feat", "f32", {3, 139}, std::vector<float>(3 * 139)));
  expect_error(path, "node_feat");
  write_with(3, array_of<float>("node_config_feat", "f32", {2, 2, 18}, std::vector<float>(72, 6)));
  expect_error(path, "configuration 0 holds 6: a layout's axis is -1 to 5");
  write_with(
      3, array_of<std::complex<float>>("node_config_feat", "c64", {2, 2, 18}, std::vector<std::complex<float>>(72)));
  expect_error(path, "node_config_feat");

  write_npz(path, small_arrays(), true);
  const std::string whole = read_file(path);
  for (size_t size : {size_t{0}, size_t{10}, whole.size() / 2, whole.size() - 1}) {
    write_file(path, std::string_view(whole).substr(0, size));
    expect_error(path, path);
  }
}

TEST_CASE("parts are shares of distinct things and do not depend on order") {
  std::vector<options::ConfigGraph> graphs = {chain_graph(12, 300, 1)};
  options::LayoutSplit split;
  split.by = "configs";
  split.hold_out = 0.2;
  split.folds = 5;
  std::vector<int> seen(300);
  std::vector<int32_t> tested;
  size_t distinct = options::distinct_configs(graphs[0]).index.size();
  for (int64_t fold = 0; fold < 5; ++fold) {
    const options::LayoutParts parts = options::split_layouts(graphs, split, fold);
    REQUIRE(parts.test.size() == 1);
    CHECK(parts.train[0].configs.size() + parts.validation[0].configs.size() + parts.test[0].configs.size() ==
          distinct);
    CHECK(parts.test[0].configs.size() == static_cast<size_t>(std::ceil(0.2 * static_cast<double>(distinct))));
    for (int32_t config : parts.validation[0].configs) ++seen[config];
    if (fold == 0) tested = parts.test[0].configs;
    CHECK(parts.test[0].configs == tested);
  }
  for (int32_t config : tested) CHECK(seen[config] == 0);
  CHECK(std::accumulate(seen.begin(), seen.end(), 0) == static_cast<int>(distinct - tested.size()));
  CHECK(*std::max_element(seen.begin(), seen.end()) == 1);

  split.by = "graphs";
  CHECK_THROWS_AS(options::split_layouts(graphs, split, 0), Error);
  for (uint64_t seed = 2; seed <= 8; ++seed) graphs.push_back(chain_graph(12, 20, seed));
  graphs[1].name = "default/chain1";  // the same program in another collection
  const options::LayoutParts parts = options::split_layouts(graphs, split, 0);
  const auto in = [](const std::vector<options::LayoutPart>& list, int64_t graph) {
    return std::any_of(list.begin(), list.end(), [&](const options::LayoutPart& part) { return part.graph == graph; });
  };
  CHECK(parts.train.size() + parts.validation.size() + parts.test.size() == 8);
  CHECK(in(parts.test, 0) == in(parts.test, 1));
  CHECK(in(parts.train, 0) == in(parts.train, 1));
}

TEST_CASE("programs are held out by name") {
  std::vector<options::ConfigGraph> graphs;
  for (uint64_t seed = 1; seed <= 8; ++seed) graphs.push_back(chain_graph(12, 20, seed));
  graphs[2].name = "other/chain3";
  options::LayoutSplit split;
  split.test = {"chain3", "chain7", "one that is not there"};
  split.folds = 20;
  CHECK(options::folds_of(graphs, split) == 6);
  std::vector<int> validated(8);
  for (int64_t fold = 0; fold < 6; ++fold) {
    const options::LayoutParts parts = options::split_layouts(graphs, split, fold);
    REQUIRE(parts.test.size() == 2);
    CHECK(parts.test[0].graph == 2);
    CHECK(parts.test[1].graph == 6);
    CHECK(parts.train.size() == 5);
    for (const options::LayoutPart& part : parts.validation) ++validated[part.graph];
  }
  CHECK(validated == std::vector<int>{1, 1, 0, 1, 1, 1, 0, 1});
  CHECK(to_json(options::layout_split_from_json(to_json(split))) == to_json(split));
  split.hold_out = 0.2;
  CHECK_THROWS_AS(split.validate(), Error);
  split.hold_out = 0;
  split.by = "configs";
  CHECK_THROWS_AS(split.validate(), Error);
}

TEST_CASE("tiles of a kernel: distinct ones, parts, nothing to prune") {
  options::ConfigGraph graph = tile_kernel(60, 3);
  options::check(graph);
  CHECK(graph.configurations() == 60);
  const options::ConfigGraph pruned = options::prune(graph);
  CHECK(pruned.nodes() == 3);
  const options::DistinctConfigs distinct = options::distinct_configs(graph);
  CHECK(distinct.index.size() < 60);  // at most 49 are possible
  for (size_t i = 0; i < distinct.index.size(); ++i)
    CHECK(distinct.runtime_ns[i] == graph.runtime_ns[distinct.index[i]]);  // equal tiles have equal run times
  options::LayoutSplit split;
  split.by = "configs";
  split.folds = 4;
  const options::LayoutParts parts = options::split_layouts({graph}, split, 0);
  CHECK(parts.train[0].configs.size() + parts.validation[0].configs.size() == distinct.index.size());
  graph.tiles.pop_back();
  CHECK_THROWS_AS(options::check(graph), Error);
}

TEST_CASE("a tile file is read with run times as multiples of their own default") {
  const TempDir folder;
  const std::string path = (folder.path() / "tile.npz").string();
  std::vector<float> tiles(2 * options::kTileFeatures);
  for (size_t i = 0; i < tiles.size(); ++i) tiles[i] = static_cast<float>(i);
  std::vector<NamedArray> arrays = small_arrays();
  arrays.resize(3);
  arrays.push_back(array_of<float>("config_feat", "f32", {2, options::kTileFeatures}, tiles));
  arrays.push_back(array_of<int64_t>("config_runtime", "s64", {2}, {300, 220}));
  arrays.push_back(array_of<int64_t>("config_runtime_normalizers", "s64", {2}, {200, 100}));
  write_npz(path, arrays, true);
  for (const std::string& cache : {std::string(), (folder.path() / "cache").string()}) {
    const options::ConfigGraph graph = options::read_layout_data(path, cache).at(0);
    CHECK(graph.is_tile());
    CHECK(graph.nodes() == 3);
    CHECK(graph.tiles == tiles);
    CHECK(graph.runtime_ns == std::vector<double>{300, 440});
  }
  arrays.erase(arrays.begin() + 4);
  write_npz(path, arrays);
  expect_error(path, "config_runtime");
}

TEST_CASE("the shipped layouts are those of the split's programs") {
  const std::filesystem::path data = std::filesystem::path(__FILE__).parent_path() / "../../data";
  const Split split = Split::read((data / "splits/layout.txt").string());
  std::vector<std::string> programs = split.train;
  programs.insert(programs.end(), split.test.begin(), split.test.end());
  std::sort(programs.begin(), programs.end());
  const std::vector<options::ConfigGraph> graphs = options::read_layout_data((data / "layouts").string());
  REQUIRE(graphs.size() >= 40);
  REQUIRE(graphs.size() == programs.size());
  for (size_t i = 0; i < graphs.size(); ++i) {
    CHECK(graphs[i].name == programs[i]);
    CHECK(graphs[i].configurations() > 20);
    for (uint64_t packed : graphs[i].config(0)) CHECK(packed == 0);  // XLA's own layouts stand first
    CHECK(options::distinct_configs(graphs[i]).index.size() == static_cast<size_t>(graphs[i].configurations()));
    CHECK(*std::min_element(graphs[i].runtime_ns.begin(), graphs[i].runtime_ns.end()) > 0);
  }
  options::LayoutSplit by_name;
  by_name.test = split.test;
  CHECK(options::split_layouts(graphs, by_name, 0).test.size() == split.test.size());
}

TEST_CASE("public layout files are read") {
  const std::string path = corpus_file("xla/random/valid/unet_3d.4x4.bf16.npz");
  if (!std::filesystem::exists(path)) return skip_case("no corpus at " + path);
  const options::ConfigGraph graph = options::read_layout_npz(path);
  CHECK(graph.nodes() == 3163);
  CHECK(graph.configurable() == 62);
  CHECK(graph.configurations() == 481);
  CHECK(graph.runtime_ns.size() == 481);
  for (int32_t node : graph.config_nodes) {
    const int opcode = graph.node_opcode[node];
    CHECK((opcode == 26 || opcode == 34 || opcode == 75));  // convolution, dot, reshape
  }
  const options::ConfigGraph small = options::prune(graph);
  CHECK(small.nodes() < graph.nodes() / 4);
  // Packing loses nothing: the axes are those of the file.
  const std::vector<NamedArray> arrays = read_npz(path);
  const auto found =
      std::find_if(arrays.begin(), arrays.end(), [](const auto& a) { return a.name == "node_config_feat"; });
  REQUIRE(found != arrays.end());
  const auto* values = reinterpret_cast<const float*>(found->bytes.data());
  int64_t different = 0;
  for (size_t i = 0; i < graph.configs.values.size(); ++i) {
    const options::ConfigAxes axes = options::unpack_axes(graph.configs.values[i]);
    for (int a = 0; a < options::kConfigAxes; ++a) different += values[i * options::kConfigAxes + a] != axes[a];
  }
  CHECK(different == 0);
  const options::ConfigGraph unmeasured =
      options::read_layout_npz(corpus_file("xla/random/test/cd708819d3f5103afd6460b15e74eaf3.npz"));
  CHECK(unmeasured.runtime_ns.empty());
}
