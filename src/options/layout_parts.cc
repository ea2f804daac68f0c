#include "options/layout_parts.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "options/option_json.h"

namespace hone::options {

namespace {

enum class Part { Train, Validation, Test };

size_t tested_of(size_t count, double share) {
  return static_cast<size_t>(std::ceil(share * static_cast<double>(count)));
}

// Assigns `keys.size()` items to parts in the order of their hashes: those in `tested`, or the first `share` of them if it is
// empty, are test data; the others are assigned to folds in turn.
std::vector<Part> deal(const std::vector<uint64_t>& keys, std::vector<bool> tested, double share, int64_t folds,
                       int64_t fold) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t i, size_t j) { return keys[i] != keys[j] ? keys[i] < keys[j] : i < j; });
  if (tested.empty()) {
    tested.assign(keys.size(), false);
    for (size_t i = 0; i < tested_of(keys.size(), share); ++i) tested[order[i]] = true;
  }
  std::vector<Part> parts(keys.size(), Part::Train);
  int64_t others = 0;
  for (size_t i : order) {
    if (tested[i])
      parts[i] = Part::Test;
    else if (others++ % folds == fold)
      parts[i] = Part::Validation;
  }
  return parts;
}

uint64_t key_of(std::string_view bytes, uint64_t seed) {
  return hash64(std::to_string(seed) + " " + std::string(bytes));
}

std::string program_of(const ConfigGraph& graph) { return std::filesystem::path(graph.name).filename().string(); }

// Measured programs by name.
std::vector<std::string> programs(const std::vector<ConfigGraph>& graphs) {
  std::vector<std::string> names;
  for (const ConfigGraph& graph : graphs)
    if (!graph.runtime_ns.empty()) names.push_back(program_of(graph));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// The programs held out by name; empty if the share determines them.
std::vector<bool> named_tests(const std::vector<std::string>& programs, const LayoutSplit& split) {
  if (split.test.empty()) return {};
  std::vector<bool> tested;
  for (const std::string& name : programs)
    tested.push_back(std::find(split.test.begin(), split.test.end(), name) != split.test.end());
  return tested;
}

std::vector<LayoutPart>& list_of(LayoutParts& parts, Part part) {
  return part == Part::Train ? parts.train : part == Part::Validation ? parts.validation : parts.test;
}

void split_by_graph(const std::vector<ConfigGraph>& graphs, const LayoutSplit& split, int64_t fold, LayoutParts& out) {
  const std::vector<std::string> names = programs(graphs);
  std::vector<uint64_t> keys;
  for (const std::string& name : names) keys.push_back(key_of(name, split.seed));
  const std::vector<Part> parts = deal(keys, named_tests(names, split), split.hold_out, folds_of(graphs, split), fold);
  for (LayoutPart& part : all_layouts(graphs)) {
    const auto at = std::lower_bound(names.begin(), names.end(), program_of(graphs[part.graph]));
    list_of(out, parts[at - names.begin()]).push_back(std::move(part));
  }
}

void split_by_config(const std::vector<ConfigGraph>& graphs, const LayoutSplit& split, int64_t fold, LayoutParts& out) {
  for (const LayoutPart& whole : all_layouts(graphs)) {
    std::vector<uint64_t> keys;
    for (int32_t config : whole.configs) keys.push_back(key_of(graphs[whole.graph].config_bytes(config), split.seed));
    const std::vector<Part> parts = deal(keys, {}, split.hold_out, split.folds, fold);
    for (Part wanted : {Part::Train, Part::Validation, Part::Test}) {
      LayoutPart part{whole.graph, {}, {}};
      for (size_t i = 0; i < parts.size(); ++i) {
        if (parts[i] != wanted) continue;
        part.configs.push_back(whole.configs[i]);
        part.runtime_ns.push_back(whole.runtime_ns[i]);
      }
      if (!part.configs.empty()) list_of(out, wanted).push_back(std::move(part));
    }
  }
}

}  // namespace

void LayoutSplit::validate() const {
  if (by != "graphs" && by != "configs") throw Error("must be graphs or configs", "--split");
  if (!(hold_out >= 0 && hold_out < 0.9)) throw Error("must be a share from 0 to below 0.9", "--hold-out");
  if (!test.empty() && (hold_out > 0 || by != "graphs"))
    throw Error("the split already names the programs held out", "--hold-out", "omit one of the two");
  if (folds < 2 || folds > 1000) throw Error("from 2 to 1000", "--folds");
}

nlohmann::json to_json(const LayoutSplit& split) { return write_options(split); }

LayoutSplit layout_split_from_json(const nlohmann::json& json) {
  LayoutSplit split;
  read_options(json, "split", split);
  split.validate();
  return split;
}

int64_t folds_of(const std::vector<ConfigGraph>& graphs, const LayoutSplit& split) {
  if (split.by == "configs") return split.folds;
  const std::vector<std::string> names = programs(graphs);
  const std::vector<bool> named = named_tests(names, split);
  const auto tested = named.empty() ? static_cast<int64_t>(tested_of(names.size(), split.hold_out))
                                    : static_cast<int64_t>(std::count(named.begin(), named.end(), true));
  return std::min(split.folds, static_cast<int64_t>(names.size()) - tested);
}

std::vector<LayoutPart> all_layouts(const std::vector<ConfigGraph>& graphs) {
  std::vector<LayoutPart> parts;
  for (size_t i = 0; i < graphs.size(); ++i) {
    if (graphs[i].runtime_ns.empty()) continue;
    DistinctConfigs distinct = distinct_configs(graphs[i]);
    parts.push_back({static_cast<int64_t>(i), std::move(distinct.index), std::move(distinct.runtime_ns)});
  }
  return parts;
}

LayoutParts split_layouts(const std::vector<ConfigGraph>& graphs, const LayoutSplit& split, int64_t fold) {
  split.validate();
  if (programs(graphs).empty()) throw Error("no configuration of the data has a run time", "data");
  LayoutParts parts;
  if (split.by == "configs") {
    split_by_config(graphs, split, fold, parts);
  } else {
    if (folds_of(graphs, split) < 2)
      throw Error("too few programs to hold whole ones out", "data",
                  "--split configs holds configurations of the same program out");
    split_by_graph(graphs, split, fold, parts);
  }
  if (parts.train.empty() || parts.validation.empty())
    throw Error("too few configurations to train and to validate on", "data");
  return parts;
}

}  // namespace hone::options
