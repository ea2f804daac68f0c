// Task graphs (hone place GRAPH.json), and the plans, topologies and graphs that policies keep, as the simulator runs them.
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "place/place_graph.h"
#include "sim/simulator.h"
#include "sim/task_graph_json.h"
#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {

namespace {

void run(sim::TaskGraph graph, sim::Topology topology, const sim::Plan& plan) {
  sim::Simulator simulator(std::move(graph), std::move(topology));
  simulator.run(plan);
}

const sim::Topology& two_devices() {
  static const sim::Topology topology = sim::parse_topology(
      "[[device]]\nname='a'\ncount=2\nmemory_gib=1\nmatrix_tflops=1\nvector_tflops=1\nmemory_gb_per_s=1\n"
      "[[link]]\nbetween=['a0','a1']\ngb_per_s=1\n",
      "devices");
  return topology;
}

}  // namespace

void task_graph(Bytes input) {
  const int choice = take_choice(input, 2);
  if (choice == 0) {
    expect_errors([&] { run(place::read_task_graph(text_of(input), "file"), two_devices(), {}); });
    return;
  }
  const nlohmann::json json = nlohmann::json::parse(shallow_json(text_of(input)), nullptr, false);
  if (!json.is_object()) return;
  const auto part = [&](const char* name) { return json.value(name, nlohmann::json()); };
  expect_errors([&] {
    const sim::Plan plan = sim::plan_from_json(part("plan"));
    run(sim::graph_from_json(part("graph")), sim::topology_from_json(part("topology")), plan);
  });
}

}  // namespace hone::fuzz
