#include "sim/strategies.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "base/error.h"
#include "sim/planners.h"
#include "tests/sim/reference.h"

namespace hone::sim {

namespace {

constexpr Tasks kAll{true, true, true};

StrategyOptions deciding(const Tasks& tasks) {
  StrategyOptions options;
  options.tasks = tasks;
  return options;
}

// Two independent chains with large results between neighbours.
TaskGraph two_chains(int length) {
  std::vector<Op> ops;
  std::vector<std::pair<int, int>> edges;
  for (int i = 0; i < 2 * length; ++i) {
    ops.push_back(an_op("op" + std::to_string(i), 1, 100));
    if (i >= 2) edges.emplace_back(i - 2, i);
  }
  return a_graph(std::move(ops), std::move(edges));
}

}  // namespace

TEST_CASE("every strategy makes plans that run, the same for the same seed", "[sim]") {
  Rng rng(2);
  const TaskGraph graph = random_graph(40, rng, 0.1);
  for (const StrategyRow& row : strategies())
    for (const Tasks& tasks : {kAll, Tasks{true, false, false}, Tasks{false, true, false}, Tasks{false, false, true}}) {
      Simulator simulator(graph, unit_topology(3));
      StrategyOptions options;
      options.tasks = tasks;
      options.steps = 200;
      options.base.schedule.assign(graph.ops.size(), 4);
      options.default_fusion.assign(graph.ops.size(), 1);
      const Plan plan = row.plan(simulator, options);
      INFO(row.name);
      CHECK(simulator.run(plan).step_seconds > 0);
      CHECK(plan == row.plan(simulator, options));
      // Other decisions stay.
      if (!tasks.placement || !row.decides.placement)
        CHECK((plan.device.empty() || std::set<int32_t>(plan.device.begin(), plan.device.end()).size() <= 1));
      if (!tasks.schedule) CHECK(plan.schedule == options.base.schedule);
      if (!tasks.fusion) CHECK(plan.fusion.empty());
    }
}

TEST_CASE("layer-wise pieces are consecutive and equal, round robin assigns in turn", "[sim]") {
  std::vector<Op> ops;
  for (int i = 0; i < 8; ++i) ops.push_back(an_op("op" + std::to_string(i), 1));
  Simulator simulator(a_graph(ops, {}), unit_topology(4));
  CHECK(plan_layerwise(simulator, {}).device == std::vector<int32_t>{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(plan_round_robin(simulator, {}).device == std::vector<int32_t>{0, 1, 2, 3, 0, 1, 2, 3});
  CHECK(plan_single(simulator, {}).device == std::vector<int32_t>(8, 0));
}

TEST_CASE("a layer-wise split gives a faster device more", "[sim]") {
  std::vector<Op> ops;
  for (int i = 0; i < 9; ++i) ops.push_back(an_op("op" + std::to_string(i), 1));
  Topology topology = unit_topology(2);
  topology.devices[1].vector_flops = 2;
  Simulator simulator(a_graph(ops, {}), topology);
  CHECK(plan_layerwise(simulator, {}).device == std::vector<int32_t>{0, 0, 0, 1, 1, 1, 1, 1, 1});
}

TEST_CASE("METIS and HEFT keep independent chains apart", "[sim]") {
  Simulator simulator(two_chains(12), unit_topology(2));
  for (Planner planner : {plan_metis, plan_heft}) {
    const StepReport r = simulator.run(planner(simulator, {}));
    CHECK(r.step_seconds == 12);
    CHECK(r.transferred_bytes == 0);
  }
}

TEST_CASE("METIS accepts graphs smaller than the number of devices and graphs without edges", "[sim]") {
  Simulator one(a_graph({an_op("a", 1), an_op("x", 0, 1, OpKind::Input)}, {}), unit_topology(4));
  CHECK(one.run(plan_metis(one, {})).step_seconds == 1);
  Simulator inputs(a_graph({an_op("x", 0, 1, OpKind::Input)}, {}), unit_topology(4));
  CHECK(inputs.run(plan_metis(inputs, {})).step_seconds == 0);
}

TEST_CASE("upward ranks are the longest path to the end", "[sim]") {
  // c = 4, b = 2 + 3 (transfer) + 4, a = 1 + 2 + b.
  const TaskGraph graph = a_graph({an_op("a", 1, 2), an_op("b", 2, 3), an_op("c", 4)}, {{0, 1}, {1, 2}});
  Simulator simulator(graph, unit_topology(2));
  CHECK(upward_ranks(simulator) == std::vector<double>{12, 9, 4});
  CHECK(upward_ranks(simulator, {0, 0, 1}) == std::vector<double>{10, 9, 4});
  CHECK(priorities_of({1, 5, 5, 0}) == std::vector<int32_t>{2, 4, 3, 1});
}

TEST_CASE("HEFT fills gaps", "[sim]") {
  // Device 1 waits 5 s for a's result; the small task of lower rank fits into the gap.
  TaskGraph graph =
      a_graph({an_op("a", 1, 5), an_op("long", 20), an_op("other", 18), an_op("small", 3)}, {{0, 1}, {0, 2}});
  Simulator simulator(graph, unit_topology(2));
  const Plan plan = plan_heft(simulator, deciding({true, false, true}));
  CHECK(plan.device[3] == 1);
  CHECK(simulator.run(plan).step_seconds == 24);
}

TEST_CASE("the critical path goes first", "[sim]") {
  // First come, first served would run the short ones first.
  const TaskGraph graph = a_graph({an_op("s1", 1), an_op("s2", 1), an_op("head", 1, 0), an_op("tail", 9)}, {{2, 3}});
  Simulator simulator(graph, unit_topology(2));
  StrategyOptions options;
  options.tasks = {false, false, true};
  options.base.device = {0, 0, 0, 1};
  CHECK(simulator.run(options.base).step_seconds == 12);
  CHECK(simulator.run(plan_critical_path(simulator, options)).step_seconds == 10);
}

TEST_CASE("planners place whole kernels", "[sim]") {
  // Pairs of operations that the base fuses; assigned one by one, they would be separated.
  std::vector<Op> ops;
  std::vector<std::pair<int, int>> edges;
  std::vector<int32_t> fusion;
  for (int i = 0; i < 8; ++i) {
    ops.push_back(an_op("op" + std::to_string(i), 1, 100));
    if (i % 2 == 1) edges.emplace_back(i - 1, i);
    fusion.push_back(i % 2 == 0);
  }
  Simulator simulator(a_graph(ops, edges), unit_topology(2));
  StrategyOptions options;
  options.base.fusion = fusion;
  for (const char* name : {"roundrobin", "metis", "heft", "layerwise"}) {
    const Plan plan = strategy(name).plan(simulator, options);
    INFO(name);
    const StepReport r = simulator.run(plan);
    CHECK(r.kernels == 4);
    CHECK(r.step_seconds == 4);
    CHECK(plan.fusion == fusion);
  }
  CHECK(strategy("roundrobin").plan(simulator, options).device == std::vector<int32_t>{0, 0, 1, 1, 0, 0, 1, 1});
  // An operation that is computed on both devices is no longer fused.
  Simulator shared(a_graph({an_op("s", 1, 3), an_op("a", 1), an_op("b", 1)}, {{0, 1}, {0, 2}}), unit_topology(2));
  options.base.fusion = {1, 0, 0};
  const StepReport r = shared.run(strategy("roundrobin").plan(shared, options));
  CHECK(r.kernels == 3);
  CHECK(r.step_seconds == 1 + 3 + 1);
  // Costs are used: with a factor of 3 on everything the split stays, and times are three times as long.
  Simulator slow(a_graph(ops, edges), unit_topology(2), {std::vector<double>(8, 3.0)});
  options.base.fusion = fusion;
  CHECK(slow.run(strategy("layerwise").plan(slow, options)).step_seconds == 12);
}

TEST_CASE("one device with priority fusion is planned on the fastest device, and fits", "[sim]") {
  const TaskGraph graph = a_graph({an_op("a", 4, 10), an_op("b", 4, 10), an_op("c", 4, 10)}, {{0, 1}, {1, 2}});
  Topology topology = unit_topology(3);
  topology.devices[1].vector_flops = 4;
  topology.devices[2].vector_flops = 2;
  Simulator simulator(graph, topology);
  const Plan plan = plan_single_fused(simulator, deciding(kAll));
  CHECK(plan.device == std::vector<int32_t>{1, 1, 1});
  CHECK(simulator.run(plan).step_seconds == 3);
  CHECK(plan_single_fused(simulator, deciding({false, true, true})).device.empty());
}

TEST_CASE("tasks and strategies are found by name", "[sim]") {
  CHECK(parse_tasks("fusion,placement") == Tasks{true, true, false});
  CHECK(parse_tasks("schedule") == Tasks{false, false, true});
  CHECK_THROWS_AS(parse_tasks(""), Error);
  CHECK_THROWS_AS(parse_tasks("placement,layout"), Error);
  CHECK(std::string(strategy("metis").name) == "metis");
  CHECK_THROWS_AS(strategy("magic"), Error);
}

}  // namespace hone::sim
