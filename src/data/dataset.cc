#include "data/dataset.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string_view>

#include "base/error.h"
#include "data/shard.h"

namespace hone {

namespace fs = std::filesystem;

namespace {

constexpr char kEnding[] = ".shard";

void require_width(const char* what, size_t got, int64_t rows, int width) {
  if (static_cast<int64_t>(got) != rows * width)
    throw Error(fmt::format("{} {} numbers do not make {} rows of {}", got, what, rows, width));
}

void check(const KernelView& kernel) {
  require_width("node feature", kernel.node_features.size(), kernel.nodes(), features::node_feature_count());
  require_width("static feature", kernel.static_features.size(), 1, features::static_feature_count());
  require_width("tile feature", kernel.tiles.size(), kernel.options(), features::tile_feature_count());
  require_width("edge", kernel.edge_to.size(), static_cast<int64_t>(kernel.edge_from.size()), 1);
  if (kernel.nodes() == 0) throw Error("a kernel without nodes");
  if (kernel.options() == 0) throw Error("a kernel without run times");
  for (auto edges : {kernel.edge_from, kernel.edge_to})
    for (int32_t node : edges)
      if (node < 0 || node >= kernel.nodes())
        throw Error(fmt::format("an edge has node {} of {}", node, kernel.nodes()));
  for (size_t i = 0; i < kernel.runtime_ns.size(); ++i)
    if (!(std::isfinite(kernel.runtime_ns[i]) && kernel.runtime_ns[i] > 0))
      throw Error(fmt::format("run time {} of option {} is not a positive number", kernel.runtime_ns[i], i));
  if (kernel.default_option < -1 || kernel.default_option >= kernel.options())
    throw Error(fmt::format("default option {} of {}", kernel.default_option, kernel.options()));
}

std::vector<std::string> shard_files(const std::string& folder) {
  std::error_code failed;
  std::vector<std::string> files;
  for (const fs::directory_entry& file : fs::directory_iterator(folder, failed))
    if (file.path().extension() == kEnding) files.push_back(file.path().string());
  if (failed) throw Error("cannot read the data set: " + failed.message(), folder, "give a folder of .shard files");
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

struct DatasetWriter::State {
  fs::path folder;
  int64_t shard_bytes;
  int next = 0;
  ShardBuilder builder;

  void write() {
    if (builder.kernels() > 0) builder.write((folder / fmt::format("{:04}{}", next++, kEnding)).string());
  }
};

DatasetWriter::DatasetWriter(std::string folder, int64_t shard_bytes) : state_(std::make_unique<State>()) {
  state_->folder = folder;
  state_->shard_bytes = shard_bytes;
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) throw Error("cannot make the data set's folder: " + failed.message(), folder);
  if (!shard_files(folder).empty())
    throw Error("the folder already contains a data set", folder, "name another folder, or remove its .shard files");
}

DatasetWriter::~DatasetWriter() = default;

void DatasetWriter::add(const KernelView& kernel) {
  try {
    check(kernel);
  } catch (const Error& e) {
    throw Error(e.what(), "kernel " + std::string(kernel.fingerprint));
  }
  if (state_->builder.bytes() + ShardBuilder::bytes_of(kernel) > state_->shard_bytes) state_->write();
  state_->builder.add(kernel);
}

void DatasetWriter::close() { state_->write(); }

struct Dataset::State {
  std::vector<Shard> shards;
  std::vector<int64_t> first;  // index of each shard's first kernel
  int64_t kernels = 0, options = 0;
  int corrupt = 0;
};

Dataset::Dataset() : state_(std::make_unique<State>()) {}
Dataset::~Dataset() = default;
Dataset::Dataset(Dataset&&) noexcept = default;
Dataset& Dataset::operator=(Dataset&&) noexcept = default;

Dataset Dataset::open(const std::string& folder) {
  Dataset dataset;
  State& state = *dataset.state_;
  const std::vector<std::string> files = shard_files(folder);
  if (files.empty()) throw Error("the data set is empty", folder, "make one with 'hone collect'");
  for (const std::string& file : files) {
    std::optional<Shard> shard = Shard::open(file);
    if (!shard) {
      ++state.corrupt;
      continue;
    }
    state.first.push_back(state.kernels);
    state.kernels += shard->kernels();
    for (int64_t i = 0; i < shard->kernels(); ++i) state.options += shard->kernel(i).options();
    state.shards.push_back(std::move(*shard));
  }
  if (state.shards.empty()) throw Error(fmt::format("all {} shards of the data set are damaged", files.size()), folder);
  return dataset;
}

int64_t Dataset::size() const { return state_->kernels; }
int64_t Dataset::options() const { return state_->options; }
int Dataset::corrupt_shards() const { return state_->corrupt; }

KernelView Dataset::kernel(int64_t index) const {
  if (index < 0 || index >= state_->kernels) throw InternalError("kernel index outside the data set");
  const auto after = std::upper_bound(state_->first.begin(), state_->first.end(), index);
  const size_t shard = after - state_->first.begin() - 1;
  return state_->shards[shard].kernel(index - state_->first[shard]);
}

std::vector<int64_t> Split::kernels_of(const Dataset& dataset, const std::vector<std::string>& programs) {
  const std::set<std::string_view> wanted(programs.begin(), programs.end());
  std::vector<int64_t> found;
  for (int64_t i = 0; i < dataset.size(); ++i)
    if (wanted.count(dataset.kernel(i).program)) found.push_back(i);
  return found;
}

}  // namespace hone
