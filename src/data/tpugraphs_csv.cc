// Submissions to the competition: `ID,TopConfigs`.
#include <fmt/core.h>

#include <charconv>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "data/tpugraphs.h"

namespace hone {
namespace {

constexpr std::string_view kHeader = "ID,TopConfigs";

// Removes and returns the part of `text` before `separator`.
std::string_view take_part(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

KaggleRow parse_row(std::string_view line, int64_t number, const std::string& where) {
  const std::string_view id = take_part(line, ',');
  const size_t colon = id.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == id.size())
    throw Error(fmt::format("'{}' is not an ID of the form collection:name", id), where);
  KaggleRow row{std::string(id.substr(0, colon)), std::string(id.substr(colon + 1)), {}, number};
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

}  // namespace

std::vector<KaggleRow> decode_kaggle_csv(const std::string& text, const std::string& where) {
  std::vector<KaggleRow> rows;
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
    KaggleRow row = parse_row(line, number, place);
    if (!ids.insert(row.collection + ":" + row.name).second)
      throw Error(fmt::format("ID '{}:{}' occurs twice", row.collection, row.name), place);
    rows.push_back(std::move(row));
  }
  if (rows.empty()) throw Error("it has no rows", where);
  return rows;
}

std::vector<KaggleRow> read_kaggle_csv(const std::string& path) { return decode_kaggle_csv(read_file(path), path); }

std::string encode_kaggle_csv(std::span<const KaggleRow> rows) {
  std::string out = std::string(kHeader) + "\n";
  for (const KaggleRow& row : rows) {
    out += row.collection + ":" + row.name + ",";
    for (size_t i = 0; i < row.configs.size(); ++i) out += (i > 0 ? ";" : "") + std::to_string(row.configs[i]);
    out += "\n";
  }
  return out;
}

void check_kaggle_row(const KaggleRow& row, const TpuGraph& graph, const std::string& where) {
  const std::string place = fmt::format("{}, line {}", where, row.line);
  for (int64_t index : row.configs)
    if (index < 0 || index >= graph.configurations())
      throw Error(
          fmt::format("configuration {} is out of range: '{}' has {}", index, graph.name, graph.configurations()),
          place);
  if (graph.collection == TpuCollection::Layout && static_cast<int64_t>(row.configs.size()) != graph.configurations())
    throw Error(fmt::format("{} configurations are ranked, '{}' has {}: layouts need all of them", row.configs.size(),
                            graph.name, graph.configurations()),
                place);
}

}  // namespace hone
