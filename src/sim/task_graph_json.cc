#include "sim/task_graph_json.h"

#include "base/error.h"

namespace hone::sim {

namespace {

// Every field of an operation that is stored unchanged, with its column's name; `kind` is stored by name.
template <class Visit>
void for_each_column(Visit&& visit) {
  visit("name", &sim::Op::name);
  visit("opcode", &sim::Op::opcode);
  visit("flops", &sim::Op::flops);
  visit("special", &sim::Op::special);
  visit("output_bytes", &sim::Op::output_bytes);
  visit("is_output", &sim::Op::is_output);
  visit("written_bytes", &sim::Op::written_bytes);
  visit("dims", &sim::Op::dims);
}

template <class Visit>
void for_each_device_number(Visit&& visit) {
  visit("name", &sim::Device::name);
  visit("memory_bytes", &sim::Device::memory_bytes);
  visit("matrix_flops", &sim::Device::matrix_flops);
  visit("vector_flops", &sim::Device::vector_flops);
  visit("special_per_second", &sim::Device::special_per_second);
  visit("bytes_per_second", &sim::Device::bytes_per_second);
  visit("launch_seconds", &sim::Device::launch_seconds);
  visit("overlap", &sim::Device::overlap);
}

// Runs `read` and converts exceptions of the JSON library to Error.
template <class Read>
auto reading(const char* what, Read&& read) {
  try {
    return read();
  } catch (const nlohmann::json::exception& e) {
    throw Error(std::string("not a ") + what + ": " + e.what());
  }
}

}  // namespace

nlohmann::json graph_to_json(const sim::TaskGraph& graph) {
  nlohmann::json ops = nlohmann::json::object(), from = nlohmann::json::array(), to = from, reads = from;
  for_each_column([&](const char* name, auto member) {
    nlohmann::json& column = ops[name] = nlohmann::json::array();
    for (const sim::Op& op : graph.ops) column.push_back(op.*member);
  });
  nlohmann::json& kinds = ops["kind"] = nlohmann::json::array();
  for (const sim::Op& op : graph.ops) kinds.push_back(sim::op_kind_name(op.kind));
  for (const sim::Edge& edge : graph.edges) {
    from.push_back(edge.from);
    to.push_back(edge.to);
    reads.push_back(edge.reads);
  }
  return {{"name", graph.name}, {"ops", std::move(ops)}, {"edges", {{"from", from}, {"to", to}, {"reads", reads}}}};
}

sim::TaskGraph graph_from_json(const nlohmann::json& json) {
  return reading("task graph", [&] {
    sim::TaskGraph graph;
    json.at("name").get_to(graph.name);
    const nlohmann::json &ops = json.at("ops"), &kinds = ops.at("kind"), &edges = json.at("edges");
    graph.ops.resize(kinds.size());
    for (size_t i = 0; i < kinds.size(); ++i) graph.ops[i].kind = sim::op_kind_from_name(kinds[i].get<std::string>());
    for_each_column([&](const char* name, auto member) {
      const nlohmann::json& column = ops.at(name);
      if (column.size() != graph.ops.size()) throw Error("columns of different lengths", name);
      for (size_t i = 0; i < column.size(); ++i) column[i].get_to(graph.ops[i].*member);
    });
    const auto from = edges.at("from").get<std::vector<int32_t>>(), to = edges.at("to").get<std::vector<int32_t>>();
    const auto reads = edges.at("reads").get<std::vector<double>>();
    if (to.size() != from.size() || reads.size() != from.size()) throw Error("columns of different lengths", "edges");
    for (size_t i = 0; i < from.size(); ++i) graph.edges.push_back({from[i], to[i], reads[i]});
    return sim::sorted(std::move(graph));
  });
}

nlohmann::json topology_to_json(const sim::Topology& topology) {
  nlohmann::json devices = nlohmann::json::array(), links = devices;
  for (const sim::Device& device : topology.devices) {
    nlohmann::json& row = devices.emplace_back(nlohmann::json::object());
    for_each_device_number([&](const char* name, auto member) { row[name] = device.*member; });
  }
  for (const sim::Link& link : topology.links)
    links.push_back(
        {{"name", link.name}, {"bytes_per_second", link.bytes_per_second}, {"latency_seconds", link.latency_seconds}});
  nlohmann::json out = {{"name", topology.name}, {"devices", devices}, {"links", links}, {"routes", topology.routes}};
  if (topology.threads)
    out["threads"] = {{"segment_seconds", topology.threads->segment_seconds},
                      {"wake_seconds", topology.threads->wake_seconds}};
  return out;
}

sim::Topology topology_from_json(const nlohmann::json& json) {
  return reading("topology", [&] {
    sim::Topology topology;
    json.at("name").get_to(topology.name);
    for (const nlohmann::json& row : json.at("devices")) {
      sim::Device& device = topology.devices.emplace_back();
      for_each_device_number([&](const char* name, auto member) { row.at(name).get_to(device.*member); });
    }
    for (const nlohmann::json& row : json.at("links"))
      topology.links.push_back({row.at("name"), row.at("bytes_per_second"), row.at("latency_seconds")});
    if (json.contains("threads"))
      topology.threads = HostThreads{json["threads"].at("segment_seconds"), json["threads"].at("wake_seconds")};
    json.at("routes").get_to(topology.routes);
    const size_t devices = topology.devices.size();
    if (devices > 64) throw Error("more than 64 devices", "devices");  // as topologies in files
    if (devices == 0 || topology.routes.size() != devices * devices)
      throw Error("routes do not fit the devices", "routes");
    for (const auto& route : topology.routes)
      for (const int32_t link : route)
        if (link < 0 || static_cast<size_t>(link) >= topology.links.size())
          throw Error("a route over no link", "routes");
    return topology;
  });
}

nlohmann::json plan_to_json(const sim::Plan& plan) {
  return {{"device", plan.device}, {"schedule", plan.schedule}, {"fusion", plan.fusion}};
}

sim::Plan plan_from_json(const nlohmann::json& json) {
  return reading("plan", [&] { return sim::Plan{json.at("device"), json.at("schedule"), json.at("fusion")}; });
}

}  // namespace hone::sim
