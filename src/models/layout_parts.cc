#include "models/layout_parts.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "models/option_json.h"

namespace hone::models {

namespace {

template <class O, class Visit>
void each_split_option(O& o, Visit&& visit) {
  visit("by", o.by);
  visit("hold_out", o.hold_out);
  visit("folds", o.folds);
  visit("seed", o.seed);
}

enum class Part { Train, Validation, Test };

// Parts of `keys.size()` things: in the order of their hashes, the first share tests, the rest goes to folds in turn.
std::vector<Part> deal(const std::vector<uint64_t>& keys, const LayoutSplit& split, int64_t folds, int64_t fold) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t i, size_t j) { return keys[i] != keys[j] ? keys[i] < keys[j] : i < j; });
  const auto tested = static_cast<size_t>(std::ceil(split.hold_out * static_cast<double>(keys.size())));
  std::vector<Part> parts(keys.size(), Part::Train);
  for (size_t i = 0; i < order.size(); ++i) {
    if (i < tested)
      parts[order[i]] = Part::Test;
    else if (static_cast<int64_t>(i - tested) % folds == fold)
      parts[order[i]] = Part::Validation;
  }
  return parts;
}

uint64_t key_of(std::string_view bytes, uint64_t seed) {
  return hash64(std::to_string(seed) + " " + std::string(bytes));
}

std::string program_of(const LayoutGraph& graph) { return std::filesystem::path(graph.name).filename().string(); }

// Measured programs by name.
std::vector<std::string> programs(const std::vector<LayoutGraph>& graphs) {
  std::vector<std::string> names;
  for (const LayoutGraph& graph : graphs)
    if (!graph.runtime_ns.empty()) names.push_back(program_of(graph));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<LayoutPart>& list_of(LayoutParts& parts, Part part) {
  return part == Part::Train ? parts.train : part == Part::Validation ? parts.validation : parts.test;
}

void split_by_graph(const std::vector<LayoutGraph>& graphs, const LayoutSplit& split, int64_t fold, LayoutParts& out) {
  const std::vector<std::string> names = programs(graphs);
  std::vector<uint64_t> keys;
  for (const std::string& name : names) keys.push_back(key_of(name, split.seed));
  const std::vector<Part> parts = deal(keys, split, folds_of(graphs, split), fold);
  for (LayoutPart& part : all_layouts(graphs)) {
    const auto at = std::lower_bound(names.begin(), names.end(), program_of(graphs[part.graph]));
    list_of(out, parts[at - names.begin()]).push_back(std::move(part));
  }
}

void split_by_config(const std::vector<LayoutGraph>& graphs, const LayoutSplit& split, int64_t fold, LayoutParts& out) {
  for (const LayoutPart& whole : all_layouts(graphs)) {
    std::vector<uint64_t> keys;
    for (int32_t config : whole.configs) {
      const auto row = graphs[whole.graph].config(config);
      keys.push_back(key_of({reinterpret_cast<const char*>(row.data()), row.size_bytes()}, split.seed));
    }
    const std::vector<Part> parts = deal(keys, split, split.folds, fold);
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
  if (!(hold_out >= 0 && hold_out < 0.9)) throw Error("a share from 0 to below 0.9", "--hold-out");
  if (folds < 2 || folds > 1000) throw Error("from 2 to 1000", "--folds");
}

nlohmann::json to_json(const LayoutSplit& split) {
  nlohmann::json json;
  each_split_option(split, [&](const char* name, const auto& member) { json[name] = member; });
  return json;
}

LayoutSplit layout_split_from_json(const nlohmann::json& json) {
  LayoutSplit split;
  read_options(json, "split", [&](auto&& visit) { each_split_option(split, visit); });
  split.validate();
  return split;
}

int64_t folds_of(const std::vector<LayoutGraph>& graphs, const LayoutSplit& split) {
  if (split.by == "configs") return split.folds;
  const auto all = static_cast<double>(programs(graphs).size());
  return std::min(split.folds, static_cast<int64_t>(all - std::ceil(split.hold_out * all)));
}

std::vector<LayoutPart> all_layouts(const std::vector<LayoutGraph>& graphs) {
  std::vector<LayoutPart> parts;
  for (size_t i = 0; i < graphs.size(); ++i) {
    if (graphs[i].runtime_ns.empty()) continue;
    DistinctConfigs distinct = distinct_configs(graphs[i]);
    parts.push_back({static_cast<int64_t>(i), std::move(distinct.index), std::move(distinct.runtime_ns)});
  }
  return parts;
}

LayoutParts split_layouts(const std::vector<LayoutGraph>& graphs, const LayoutSplit& split, int64_t fold) {
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

}  // namespace hone::models
