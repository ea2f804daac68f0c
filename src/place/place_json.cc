#include <map>

#include "base/error.h"
#include "base/json_text.h"
#include "place/place_graph.h"

namespace hone::place {

namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& message, const std::string& where, const std::string& hint = "") {
  throw Error(message, where, hint);
}

double number(const json& object, const char* key, double otherwise, const std::string& where) {
  if (!object.contains(key)) return otherwise;
  if (!object[key].is_number()) refuse("must be a number", where + ", " + key);
  return object[key].get<double>();
}
std::string text(const json& object, const char* key, const std::string& otherwise, const std::string& where) {
  if (!object.contains(key)) return otherwise;
  if (!object[key].is_string()) refuse("must be a text", where + ", " + key);
  return object[key].get<std::string>();
}
void check_keys(const json& object, std::initializer_list<const char*> known, const std::string& where) {
  if (!object.is_object()) refuse("must be an object", where);
  for (const auto& [key, value] : object.items()) {
    bool found = false;
    std::string names;
    for (const char* name : known) {
      found = found || key == name;
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
    if (!found) refuse("unknown key '" + key + "'", where, "known: " + names);
  }
}

sim::Op read_op(const json& entry, const std::string& where) {
  check_keys(entry,
             {"name", "opcode", "kind", "flops", "special", "output_bytes", "is_output", "written_bytes", "dims"},
             where);
  sim::Op op;
  op.name = text(entry, "name", "", where);
  if (op.name.empty()) refuse("an operation needs a name", where);
  op.opcode = text(entry, "opcode", "", where);
  op.kind = sim::op_kind_from_name(text(entry, "kind", "elementwise", where));
  op.flops = number(entry, "flops", 0, where);
  op.special = number(entry, "special", 0, where);
  op.output_bytes = number(entry, "output_bytes", 0, where);
  op.written_bytes = number(entry, "written_bytes", -1, where);
  if (entry.contains("is_output")) {
    if (!entry["is_output"].is_boolean()) refuse("must be true or false", where + ", is_output");
    op.is_output = entry["is_output"].get<bool>();
  }
  if (entry.contains("dims")) {
    if (!entry["dims"].is_array()) refuse("must be a list of whole numbers", where + ", dims");
    for (const json& dim : entry["dims"]) {
      if (!dim.is_number_integer()) refuse("must be a list of whole numbers", where + ", dims");
      op.dims.push_back(dim.get<int64_t>());
    }
  }
  return op;
}

}  // namespace

sim::TaskGraph read_task_graph(const std::string& bytes, const std::string& what) {
  const json all = json::parse(shallow_json(bytes), nullptr, /*allow_exceptions=*/false);
  if (all.is_discarded()) refuse("not a JSON file", what);
  check_keys(all, {"name", "ops", "edges"}, what);
  if (!all.contains("ops") || !all["ops"].is_array() || all["ops"].empty()) refuse("a list of 'ops' is missing", what);
  sim::TaskGraph graph;
  graph.name = text(all, "name", what, what);
  std::map<std::string, int32_t> places;
  for (const json& entry : all["ops"]) {
    graph.ops.push_back(read_op(entry, what + ", op " + std::to_string(graph.ops.size())));
    places[graph.ops.back().name] = graph.size() - 1;
  }
  const json edges = all.value("edges", json::array());
  if (!edges.is_array()) refuse("must be a list", what + ", edges");
  for (size_t e = 0; e < edges.size(); ++e) {
    const std::string where = what + ", edge " + std::to_string(e);
    if (!edges[e].is_array() || edges[e].size() < 2 || edges[e].size() > 3)
      refuse("an edge is [from, to] or [from, to, reads]", where);
    const auto end = [&](const json& name) {
      if (name.is_number_integer()) {
        const auto index = name.get<int64_t>();
        if (index < 0 || index >= graph.size()) refuse("there is no such operation", where);
        return static_cast<int32_t>(index);
      }
      if (!name.is_string() || !places.count(name.get<std::string>())) refuse("there is no such operation", where);
      return places.at(name.get<std::string>());
    };
    if (edges[e].size() == 3 && !edges[e][2].is_number()) refuse("reads must be a number", where);
    graph.edges.push_back({end(edges[e][0]), end(edges[e][1]), edges[e].size() == 3 ? edges[e][2].get<double>() : 1.0});
  }
  return sim::sorted(std::move(graph));
}

json to_json(const sim::TaskGraph& graph) {
  json ops = json::array(), edges = json::array();
  for (const sim::Op& op : graph.ops) {
    json entry = {{"name", op.name},   {"opcode", op.opcode},   {"kind", sim::op_kind_name(op.kind)},
                  {"flops", op.flops}, {"special", op.special}, {"output_bytes", op.output_bytes},
                  {"dims", op.dims}};
    if (op.is_output) entry["is_output"] = true;
    if (op.written_bytes >= 0) entry["written_bytes"] = op.written_bytes;
    ops.push_back(std::move(entry));
  }
  for (const sim::Edge& edge : graph.edges) edges.push_back({edge.from, edge.to, edge.reads});
  return {{"name", graph.name}, {"ops", ops}, {"edges", edges}};
}

}  // namespace hone::place
