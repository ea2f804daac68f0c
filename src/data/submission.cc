#include "data/submission.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "data/npz.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHeader = "ID,TopConfigs";

// Removes and returns the part of `text` before `separator`.
std::string_view take_part(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

SubmissionRow parse_row(std::string_view line, int64_t number, const std::string& where) {
  const std::string_view id = take_part(line, ',');
  const size_t colon = id.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == id.size())
    throw Error(fmt::format("'{}' is not an ID of the form collection:name", id), where);
  SubmissionRow row{std::string(id.substr(0, colon)), std::string(id.substr(colon + 1)), {}, number};
  std::set<int64_t> seen;
  while (!line.empty()) {
    const std::string_view text = take_part(line, ';');
    int64_t value = -1;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc() || end != text.data() + text.size() || value < 0)
      throw Error(fmt::format("'{}' is not a configuration index", text), where);
    if (!seen.insert(value).second) throw Error(fmt::format("configuration {} occurs twice", value), where);
    row.configs.push_back(value);
  }
  if (row.configs.empty()) throw Error("the row has no configuration", where);
  return row;
}

// "layout:xla:random" of .../layout/xla/random/test/NAME.npz, "tile:xla" of .../tile/xla/test/NAME.npz: the part (train, valid or
// test) may be left out. Empty for other folders.
std::string collection_of(const fs::path& file) {
  const fs::path folder = fs::absolute(file).lexically_normal().parent_path();
  const std::vector<std::string> parts(folder.begin(), folder.end());
  for (size_t i = parts.size(); i-- > 0;) {
    const size_t more = parts[i] == "layout" ? 2 : parts[i] == "tile" ? 1 : 0;
    if (more == 0 || i + more >= parts.size()) continue;
    std::string name = parts[i];
    for (size_t k = 1; k <= more; ++k) name += ":" + parts[i + k];
    return name;
  }
  return "";
}

bool is_of(const std::string& collection, TpuCollection kind) {
  const std::string_view name = tpu_collection_name(kind);
  return collection.starts_with(name) && (collection.size() == name.size() || collection[name.size()] == ':');
}

RankedGraph ranked_graph(const fs::path& file, const std::string& collection) {
  RankedGraph graph;
  graph.path = file.string();
  graph.name = file.stem().string();
  const NpzFile arrays(graph.path);
  const bool layout = arrays.has("node_config_feat");
  if (!layout && !arrays.has("config_feat")) throw Error("it is no file of a layout or tile collection", graph.path);
  graph.kind = layout ? TpuCollection::Layout : TpuCollection::Tile;
  if (const std::string found = collection_of(file); collection.empty() && is_of(found, graph.kind))
    graph.collection = found;
  else
    graph.collection = collection;
  if (!graph.collection.empty() && !is_of(graph.collection, graph.kind))
    throw Error(fmt::format("its arrays are those of a {} collection, not of '{}'", tpu_collection_name(graph.kind),
                            graph.collection),
                graph.path);
  const NamedArray runtimes = arrays.read("config_runtime");
  if (runtimes.dims.size() != 1) throw Error("it is not a list", graph.path + ": array 'config_runtime'");
  graph.configurations = runtimes.dims[0];
  return graph;
}

// A graph of an unknown collection belongs to any of its kind.
bool belongs(const SubmissionRow& row, const RankedGraph& graph) {
  return graph.collection.empty() ? is_of(row.collection, graph.kind) : row.collection == graph.collection;
}

std::string id_of(const RankedGraph& graph) { return graph.collection.empty() ? graph.name : graph.id(); }

void check_row(const SubmissionRow& row, const RankedGraph& graph, const std::string& place) {
  const auto count = static_cast<int64_t>(row.configs.size());
  for (int64_t index : row.configs)
    if (index < 0 || index >= graph.configurations)
      throw Error(
          fmt::format("configuration {} is out of range: '{}' has {}", index, id_of(graph), graph.configurations),
          place);
  if (graph.kind == TpuCollection::Layout && count != graph.configurations)
    throw Error(fmt::format("{} configurations are ranked, '{}' has {}: layouts need all of them", count, id_of(graph),
                            graph.configurations),
                place);
  if (graph.kind == TpuCollection::Tile && count > kTopTiles)
    throw Error(fmt::format("{} configurations are listed for '{}': of tiles the best {} count", count, id_of(graph),
                            kTopTiles),
                place);
}

}  // namespace

std::vector<SubmissionRow> decode_submission(const std::string& text, const std::string& where) {
  std::vector<SubmissionRow> rows;
  std::set<std::string> ids;
  std::string_view rest = text;
  for (int64_t number = 1; !rest.empty(); ++number) {
    std::string_view line = take_part(rest, '\n');
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    const std::string place = fmt::format("{}, line {}", where, number);
    if (number == 1) {
      if (line != kHeader) throw Error(fmt::format("the first line is not '{}'", kHeader), place);
      continue;
    }
    if (line.empty()) continue;
    SubmissionRow row = parse_row(line, number, place);
    if (!ids.insert(row.collection + ":" + row.name).second)
      throw Error(fmt::format("ID '{}:{}' occurs twice", row.collection, row.name), place);
    rows.push_back(std::move(row));
  }
  if (rows.empty()) throw Error("it has no rows", where);
  return rows;
}

std::vector<SubmissionRow> read_submission(const std::string& path) { return decode_submission(read_file(path), path); }

std::string encode_submission(std::span<const SubmissionRow> rows) {
  std::string out = std::string(kHeader) + "\n";
  for (const SubmissionRow& row : rows) {
    out += row.collection + ":" + row.name + ",";
    for (size_t i = 0; i < row.configs.size(); ++i) out += (i > 0 ? ";" : "") + std::to_string(row.configs[i]);
    out += "\n";
  }
  return out;
}

std::vector<RankedGraph> ranked_graphs(std::span<const std::string> paths, const std::string& collection) {
  std::set<fs::path> files;
  for (const std::string& path : paths) {
    if (!fs::exists(path)) throw Error("there is no such file or folder", path);
    if (!fs::is_directory(path)) {
      files.insert(path);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(path))
      if (entry.path().extension() == ".npz") files.insert(entry.path());
  }
  if (files.empty())
    throw Error("no .npz file is there", paths.empty() ? "" : paths[0],
                "give the data set's files or a folder of them");
  std::vector<RankedGraph> graphs;
  std::map<std::string, std::string> ids;
  for (const fs::path& file : files) {
    graphs.push_back(ranked_graph(file, collection));
    const auto [other, fresh] = ids.emplace(graphs.back().id(), graphs.back().path);
    if (!fresh)
      throw Error(fmt::format("two files have the ID '{}', the other is {}", other->first, other->second),
                  graphs.back().path);
  }
  return graphs;
}

SubmissionRow submission_row(const RankedGraph& graph, std::span<const double> scores) {
  if (graph.collection.empty())
    throw Error("its folders do not say which collection it belongs to, as layout/xla/random/test does", graph.path,
                "add --collection layout:xla:random, or another one");
  if (static_cast<int64_t>(scores.size()) != graph.configurations)
    throw Error(fmt::format("{} scores for {} configurations", scores.size(), graph.configurations), graph.path);
  if (std::any_of(scores.begin(), scores.end(), [](double score) { return std::isnan(score); }))
    throw Error("a score is not a number", graph.path);
  SubmissionRow row{graph.collection, graph.name, {}, 0};
  row.configs.resize(scores.size());
  std::iota(row.configs.begin(), row.configs.end(), 0);
  std::stable_sort(row.configs.begin(), row.configs.end(), [&](int64_t a, int64_t b) { return scores[a] < scores[b]; });
  if (graph.kind == TpuCollection::Tile && row.configs.size() > kTopTiles) row.configs.resize(kTopTiles);
  return row;
}

int64_t check_submission(std::span<const SubmissionRow> rows, std::span<const RankedGraph> graphs,
                         const std::string& where, bool all) {
  std::multimap<std::string, const RankedGraph*> by_name;
  for (const RankedGraph& graph : graphs) by_name.emplace(graph.name, &graph);
  std::set<const RankedGraph*> seen;
  for (const SubmissionRow& row : rows) {
    const auto [first, last] = by_name.equal_range(row.name);
    const auto found = std::find_if(first, last, [&](const auto& entry) { return belongs(row, *entry.second); });
    const std::string place = fmt::format("{}, line {}", where, row.line);
    if (found == last && !all) continue;
    if (found == last) throw Error(fmt::format("no graph file has the ID '{}:{}'", row.collection, row.name), place);
    check_row(row, *found->second, place);
    seen.insert(found->second);
  }
  for (const RankedGraph& graph : graphs)
    if (all && !seen.contains(&graph)) throw Error(fmt::format("the row of '{}' is missing", id_of(graph)), where);
  return static_cast<int64_t>(seen.size());
}

}  // namespace hone
