// The data set's own arrays, from the corpus beside the repository; skipped if it is missing.
#include "features/tpugraphs.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "data/npz.h"
#include "features/columns.h"
#include "features/encode.h"
#include "tests/skip.h"

namespace hone::features {
namespace {

namespace fs = std::filesystem;

const fs::path kCorpus = fs::path(HONE_SOURCE_DIR) / "../shared/corpus";
const fs::path kProtos =
    kCorpus / "google-research-datasets+tpu_graphs/tpu_graphs/process_data/tensorflow_ops/testdata";
const fs::path kArrays =
    kCorpus / "timxor+predict_ai_model_runtime_kaggle/data/npz/layout/xla/default/valid/unet_3d.4x4.bf16.npz";

bool missing(const fs::path& file) {
  if (fs::exists(file)) return false;
  skip_case("no corpus file " + file.filename().string() + " at ../shared/corpus");
  return true;
}

template <class T>
std::vector<T> numbers(const NamedArray& array) {
  std::vector<T> out(array.bytes.size() / sizeof(T));
  std::memcpy(out.data(), array.bytes.data(), out.size() * sizeof(T));
  return out;
}

std::map<std::string, NamedArray> arrays_of(const fs::path& file) {
  std::map<std::string, NamedArray> out;
  for (NamedArray& array : read_npz(file.string())) out[array.name] = array;
  return out;
}

TEST_CASE("TpuGraphs: a whole module equals the data set's arrays exactly") {
  if (missing(kProtos / "module_tuning_data_layout.pb") || missing(kArrays)) return;
  const auto modules = read_tuning_data(read_file((kProtos / "module_tuning_data_layout.pb").string()));
  REQUIRE(modules.size() == 1);
  const EncodedGraph graph = encode_graph(modules[0].graph, kTpuGraphsFeatures);
  auto arrays = arrays_of(kArrays);
  REQUIRE(arrays["node_feat"].dims == std::vector<int64_t>{3163, kTpuGraphsFeatures});
  CHECK(graph.opcodes == numbers<uint8_t>(arrays["node_opcode"]));
  CHECK(graph.edge_index == numbers<int64_t>(arrays["edge_index"]));
  CHECK(graph.node_splits == numbers<int64_t>(arrays["node_splits"]));
  const auto expected = numbers<float>(arrays["node_feat"]);
  REQUIRE(graph.node_features.size() == expected.size());
  std::map<std::string, int> wrong;
  for (size_t i = 0; i < expected.size(); ++i)
    if (graph.node_features[i] != expected[i]) ++wrong[node_columns()[i % kTpuGraphsFeatures].name];
  CHECK(wrong == std::map<std::string, int>{});
  CHECK(modules[0].configurable == numbers<int64_t>(arrays["node_config_ids"]));
}

TEST_CASE("TpuGraphs: every measured layout of the module is a row of the data set") {
  if (missing(kProtos / "module_tuning_data_layout.pb") || missing(kArrays)) return;
  const auto modules = read_tuning_data(read_file((kProtos / "module_tuning_data_layout.pb").string()));
  auto arrays = arrays_of(kArrays);
  const auto features = numbers<float>(arrays["node_config_feat"]);
  const auto runtimes = numbers<int64_t>(arrays["config_runtime"]);
  const size_t width = 62 * 18;
  REQUIRE(features.size() == runtimes.size() * width);
  std::multimap<int64_t, std::vector<float>> rows;
  for (size_t i = 0; i < runtimes.size(); ++i)
    rows.emplace(runtimes[i], std::vector<float>(features.begin() + i * width, features.begin() + (i + 1) * width));
  int found = 0, failed = 0;
  for (const TuningRun& run : modules[0].runs) {
    failed += run.failed;
    if (run.failed) continue;
    const auto [first, last] = rows.equal_range(run.runtime_ns);
    const auto encoded = encode_layout_config(run);
    found += std::any_of(first, last, [&](const auto& row) { return row.second == encoded; });
  }
  CHECK(modules[0].runs.size() == 122);
  CHECK(failed == 10);
  CHECK(found == 112);
}

TEST_CASE("TpuGraphs: tile tuning data") {
  if (missing(kProtos / "op_tuning_data.pb")) return;
  const auto modules = read_tuning_data(read_file((kProtos / "op_tuning_data.pb").string()));
  REQUIRE(modules.size() == 15);
  size_t runs = 0, nodes = 0;
  std::set<int> defaults;
  for (const TuningModule& module : modules) {
    nodes += module.graph.nodes.size();
    runs += module.runs.size();
    int is_default = 0;
    for (const TuningRun& run : module.runs) is_default += run.is_default;
    defaults.insert(is_default);
    CHECK(encode_kernel(module.graph, {}).nodes() > 0);
  }
  CHECK(nodes == 294);
  CHECK(runs == 754);
  CHECK(defaults == std::set<int>{1});
}

TEST_CASE("TpuGraphs: configuration features") {
  const auto tile = encode_tile_config({.kernel = {2, 3}, .output = {4}, .input = {}, .iteration = {9}});
  REQUIRE(tile.size() == 24);
  CHECK(std::vector<float>(tile.begin(), tile.begin() + 8) == std::vector<float>{2, 3, 0, 0, 0, 0, 5, 6});
  CHECK(tile[15] == 4);
  CHECK(tile[23] == 0);  // the product of nothing
  TuningRun run;
  run.layouts = {{{1, 0}, {}}};
  const auto layout = encode_layout_config(run);
  REQUIRE(layout.size() == 18);
  CHECK(std::vector<float>(layout.begin(), layout.begin() + 3) == std::vector<float>{1, 0, -1});
  CHECK(layout[6] == -1);
}

TEST_CASE("TpuGraphs: broken files are refused") {
  CHECK_THROWS_AS(read_tuning_data(""), Error);
  CHECK_THROWS_AS(read_tuning_data("no tuning data"), Error);
  CHECK_THROWS_AS(read_tuning_data(std::string("\x10\x01", 2)), Error);  // a fingerprint and no module
}

}  // namespace
}  // namespace hone::features
