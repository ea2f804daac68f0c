#include "data/dataset.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

#include "base/error.h"
#include "base/files.h"
#include "data/shard.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

// A kernel and the arrays of its view.
struct Sample {
  std::string fingerprint, program;
  std::vector<uint8_t> opcodes;
  std::vector<float> node_features, static_features, tiles;
  std::vector<int32_t> edge_from, edge_to;
  std::vector<double> runtime_ns;

  Sample(int number, int nodes, int options)
      : fingerprint("k" + std::to_string(number)), program("program " + std::to_string(number % 3)) {
    for (int i = 0; i < nodes; ++i) opcodes.push_back(static_cast<uint8_t>(number + i));
    fill(node_features, nodes * features::node_feature_count(), number);
    fill(static_features, features::static_feature_count(), number + 0.5f);
    fill(tiles, options * features::tile_feature_count(), number + 0.25f);
    for (int i = 1; i < nodes; ++i) {
      edge_from.push_back(i - 1);
      edge_to.push_back(i);
    }
    for (int i = 0; i < options; ++i) runtime_ns.push_back(1000.0 * (number + 1) + i);
  }

  static void fill(std::vector<float>& to, int count, float from) {
    for (int i = 0; i < count; ++i) to.push_back(from + static_cast<float>(i));
  }

  KernelView view() const {
    KernelView v;
    v.fingerprint = fingerprint;
    v.program = program;
    v.family = "family";
    v.kind = "fusion";
    v.opcodes = opcodes;
    v.node_features = node_features;
    v.static_features = static_features;
    v.edge_from = edge_from;
    v.edge_to = edge_to;
    v.tiles = tiles;
    v.runtime_ns = runtime_ns;
    v.default_option = 0;
    return v;
  }
};

template <class T>
std::vector<T> values(std::span<const T> span) {
  return {span.begin(), span.end()};
}

void check_equal(const KernelView& got, const Sample& expected) {
  CHECK(got.fingerprint == expected.fingerprint);
  CHECK(got.program == expected.program);
  CHECK(got.family == "family");
  CHECK(got.kind == "fusion");
  CHECK(values(got.opcodes) == expected.opcodes);
  CHECK(values(got.node_features) == expected.node_features);
  CHECK(values(got.static_features) == expected.static_features);
  CHECK(values(got.edge_from) == expected.edge_from);
  CHECK(values(got.edge_to) == expected.edge_to);
  CHECK(values(got.tiles) == expected.tiles);
  CHECK(values(got.runtime_ns) == expected.runtime_ns);
  CHECK(got.default_option == 0);
}

// One shard of one kernel each.
void write_samples(const std::string& folder, int count) {
  DatasetWriter writer(folder, /*shard_bytes=*/1);
  for (int i = 0; i < count; ++i) writer.add(Sample(i, 3 + i, 2).view());
  writer.close();
}

void change_byte(const fs::path& path, int64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const char byte = static_cast<char>(file.get());
  file.seekp(at);
  file.put(static_cast<char>(byte ^ 1));
}

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    return std::string(e.what()) + " | " + e.where();
  }
  return "nothing thrown";
}

}  // namespace

TEST_CASE("a data set comes back as it was written", "[data]") {
  const TempDir folder;
  const std::string path = folder.path() / "set";
  std::vector<Sample> samples;
  for (int i = 0; i < 20; ++i) samples.emplace_back(i, 1 + i * 7 % 13, 1 + i % 4);
  {
    DatasetWriter writer(path, /*shard_bytes=*/20000);
    for (const Sample& sample : samples) writer.add(sample.view());
    writer.close();
  }
  int shards = 0;
  for (const auto& file : fs::directory_iterator(path)) {
    CHECK(file.path().extension() == ".shard");
    ++shards;
  }
  CHECK(shards > 1);
  const Dataset dataset = Dataset::open(path);
  REQUIRE(dataset.size() == 20);
  CHECK(dataset.corrupt_shards() == 0);
  int64_t options = 0;
  for (int i = 0; i < 20; ++i) {
    check_equal(dataset.kernel(i), samples[i]);
    options += samples[i].view().options();
    CHECK(reinterpret_cast<uintptr_t>(dataset.kernel(i).node_features.data()) % kShardAlignment == 0);
    CHECK(reinterpret_cast<uintptr_t>(dataset.kernel(i).runtime_ns.data()) % kShardAlignment == 0);
  }
  CHECK(dataset.options() == options);
  CHECK_THROWS_AS(dataset.kernel(20), InternalError);
  CHECK_THROWS_AS(dataset.kernel(-1), InternalError);
}

TEST_CASE("views survive moving the data set", "[data]") {
  const TempDir folder;
  write_samples(folder.path() / "set", 2);
  Dataset first = Dataset::open(folder.path() / "set");
  const KernelView view = first.kernel(1);
  const Dataset second = std::move(first);
  check_equal(view, Sample(1, 4, 2));
}

TEST_CASE("a shard with any byte changed is skipped and counted", "[data]") {
  const TempDir folder;
  write_samples(folder.path() / "set", 3);
  const fs::path shard = folder.path() / "set" / "0001.shard";
  const int64_t size = static_cast<int64_t>(fs::file_size(shard));
  for (int64_t at : {int64_t{0}, int64_t{8}, int64_t{12}, int64_t{40}, int64_t{70}, size / 2, size - 1}) {
    change_byte(shard, at);
    const Dataset dataset = Dataset::open(folder.path() / "set");
    CHECK(dataset.corrupt_shards() == 1);
    REQUIRE(dataset.size() == 2);
    CHECK(dataset.kernel(1).fingerprint == "k2");
    change_byte(shard, at);
  }
  CHECK(Dataset::open(folder.path() / "set").size() == 3);
}

TEST_CASE("a truncated shard is skipped and counted", "[data]") {
  const TempDir folder;
  write_samples(folder.path() / "set", 2);
  const fs::path shard = folder.path() / "set" / "0000.shard";
  const uintmax_t whole = fs::file_size(shard);
  for (uintmax_t size : {whole - 1, whole / 2, uintmax_t{64}, uintmax_t{10}, uintmax_t{0}}) {
    fs::resize_file(shard, size);
    const Dataset dataset = Dataset::open(folder.path() / "set");
    CHECK(dataset.corrupt_shards() == 1);
    CHECK(dataset.size() == 1);
  }
  fs::resize_file(folder.path() / "set" / "0001.shard", 0);
  CHECK(message_of([&] { Dataset::open(folder.path() / "set"); }).find("all 2 shards") != std::string::npos);
}

TEST_CASE("a data set of another feature version is refused", "[data]") {
  const TempDir folder;
  write_samples(folder.path() / "set", 1);
  const fs::path path = folder.path() / "set" / "0000.shard";
  std::string content = read_file(path);
  auto* header = reinterpret_cast<ShardHeader*>(content.data());
  ++header->feature_version;
  seal(*header);
  write_file(path, content);
  const std::string message = message_of([&] { Dataset::open(folder.path() / "set"); });
  CHECK(message.find("feature version " + std::to_string(features::kFeatureVersion + 1)) != std::string::npos);
  CHECK(message.find("0000.shard") != std::string::npos);

  --header->feature_version;
  ++header->node_width;
  seal(*header);
  write_file(path, content);
  CHECK(message_of([&] { Dataset::open(folder.path() / "set"); }).find("widths") != std::string::npos);
}

TEST_CASE("an offset outside the file makes a shard damaged, even if its checksum is correct", "[data]") {
  const TempDir folder;
  write_samples(folder.path() / "set", 2);
  const fs::path path = folder.path() / "set" / "0000.shard";
  const std::string sound = read_file(path);
  const auto changed = [&](const std::function<void(ShardEntry&)>& change) {
    std::string content = sound;
    auto* header = reinterpret_cast<ShardHeader*>(content.data());
    change(*reinterpret_cast<ShardEntry*>(content.data() + header->index_offset));
    seal(content);
    write_file(path, content);
    return Dataset::open(folder.path() / "set").corrupt_shards();
  };
  CHECK(changed([](ShardEntry&) {}) == 0);
  CHECK(changed([](ShardEntry& e) { e.nodes = uint64_t{1} << 60; }) == 1);
  CHECK(changed([](ShardEntry& e) { e.tiles += 1; }) == 1);
  CHECK(changed([](ShardEntry& e) { e.runtime_ns = uint64_t{1} << 63; }) == 1);
  CHECK(changed([](ShardEntry& e) { e.name_bytes[3] = 0xffffffffu; }) == 1);
  CHECK(changed([](ShardEntry& e) { e.default_option = 2; }) == 1);
}

TEST_CASE("an empty folder is not a data set", "[data]") {
  const TempDir folder;
  CHECK_THROWS_AS(Dataset::open(folder.path()), Error);
  CHECK_THROWS_AS(Dataset::open(folder.path() / "missing"), Error);
  write_file(folder.path() / "notes.txt", "no shard");
  CHECK(message_of([&] { Dataset::open(folder.path()); }).find("empty") != std::string::npos);
}

TEST_CASE("a data set is not written into another one", "[data]") {
  const TempDir folder;
  write_samples(folder.path() / "set", 1);
  CHECK_THROWS_AS(DatasetWriter(folder.path() / "set"), Error);
}

TEST_CASE("a writer that is not closed leaves only whole shards", "[data]") {
  const TempDir folder;
  {
    DatasetWriter writer(folder.path() / "set", /*shard_bytes=*/1);
    for (int i = 0; i < 3; ++i) writer.add(Sample(i, 3, 2).view());
  }
  const Dataset dataset = Dataset::open(folder.path() / "set");
  CHECK(dataset.size() == 2);
  CHECK(dataset.corrupt_shards() == 0);
}

TEST_CASE("invalid kernels are refused by name", "[data]") {
  const TempDir folder;
  DatasetWriter writer(folder.path() / "set");
  const auto refused = [&](const std::function<void(Sample&)>& change) {
    Sample sample(7, 4, 2);
    change(sample);
    return message_of([&] { writer.add(sample.view()); });
  };
  for (double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    const std::string message = refused([&](Sample& s) { s.runtime_ns[1] = bad; });
    CHECK(message.find("option 1") != std::string::npos);
    CHECK(message.find("kernel k7") != std::string::npos);
  }
  CHECK(refused([](Sample& s) { s.node_features.pop_back(); }).find("node feature") != std::string::npos);
  CHECK(refused([](Sample& s) { s.static_features.clear(); }).find("static feature") != std::string::npos);
  CHECK(refused([](Sample& s) { s.tiles.push_back(0); }).find("tile feature") != std::string::npos);
  CHECK(refused([](Sample& s) { s.edge_to.pop_back(); }).find("edge") != std::string::npos);
  CHECK(refused([](Sample& s) { s.edge_to[0] = 4; }).find("node 4 of 4") != std::string::npos);
  CHECK(refused([](Sample& s) { s.opcodes.clear(), s.node_features.clear(); }).find("without nodes") !=
        std::string::npos);
  CHECK(refused([](Sample& s) { s.runtime_ns.clear(), s.tiles.clear(); }).find("without run times") !=
        std::string::npos);
  writer.add(Sample(1, 2, 1).view());
  writer.close();
  CHECK(Dataset::open(folder.path() / "set").size() == 1);
}

TEST_CASE("a split names the programs of each part", "[data]") {
  const TempDir folder;
  const fs::path path = folder.path() / "split.tsv";
  write_file(
      path,
      "# random split, seed 0\ntrain\tprogram 0\n\ntest\tprogram 2\r\nvalidation\ta name with spaces\ntrain\tx\n");
  const Split split = Split::read(path);
  CHECK(split.train == std::vector<std::string>{"program 0", "x"});
  CHECK(split.validation == std::vector<std::string>{"a name with spaces"});
  CHECK(split.test == std::vector<std::string>{"program 2"});

  write_samples(folder.path() / "set", 7);  // of programs 0, 1 and 2 in turn
  const Dataset dataset = Dataset::open(folder.path() / "set");
  CHECK(Split::kernels_of(dataset, split.train) == std::vector<int64_t>{0, 3, 6});
  CHECK(Split::kernels_of(dataset, split.test) == std::vector<int64_t>{2, 5});
  CHECK(Split::kernels_of(dataset, split.validation).empty());
}

TEST_CASE("errors in a split name their line", "[data]") {
  const TempDir folder;
  const fs::path path = folder.path() / "split.tsv";
  const auto message = [&](const std::string& content) {
    write_file(path, content);
    return message_of([&] { Split::read(path); });
  };
  CHECK(message("train\ta\ntrain b\n").find("line 2") != std::string::npos);
  CHECK(message("train\t\n").find("line 1") != std::string::npos);
  CHECK(message("\n#\ntraining\ta\n").find("unknown part 'training'") != std::string::npos);
  CHECK(message("train\ta\ntest\ta\n").find("'a' is in the split twice | ") != std::string::npos);
  CHECK(message_of([&] { Split::read(folder.path() / "missing"); }).find("missing") != std::string::npos);
}

}  // namespace hone
