#include <catch2/catch.hpp>
#include <set>

#include "sim/block_moves.h"
#include "sim/plan_cost.h"
#include "sim/planners.h"
#include "sim/quick_plans.h"
#include "sim/strategies.h"
#include "tests/sim/reference.h"

namespace hone::sim {

namespace {

constexpr Tasks kJoint{true, true, true};

const std::vector<const char*> kSearches = {"anneal", "block-moves", "guided-moves"};

// Four chains of operations that exchange nothing, side by side in the program, and a mix of their results at the end.
TaskGraph four_chains(int length) {
  std::vector<Op> ops;
  std::vector<std::pair<int, int>> edges;
  for (int i = 0; i < 4 * length; ++i) {
    ops.push_back(an_op("op" + std::to_string(i), 1, 2));
    if (i >= 4) edges.emplace_back(i - 4, i);
  }
  ops.push_back(an_op("end", 1, 1));
  for (int c = 0; c < 4; ++c) edges.emplace_back(4 * length - 1 - c, 4 * length);
  return a_graph(std::move(ops), std::move(edges));
}

}  // namespace

TEST_CASE("plans that fit are better than all that do not", "[sim]") {
  CHECK(better({20, true}, {11, false}));
  CHECK_FALSE(better({11, false}, {20, true}));
  CHECK(better({11, true}, {20, true}));
  CHECK(better({11, false}, {20, false}));
}

TEST_CASE("searches find the optimum of graphs small enough to exhaust", "[sim]") {
  Rng rng(8);
  for (int round = 0; round < 8; ++round) {
    const TaskGraph graph = random_graph(6, rng, 0.3);
    const Topology topology = unit_topology(2);
    double least = 1e9;
    for (int mask = 0; mask < 64; ++mask) {
      std::vector<int32_t> placement;
      for (int i = 0; i < 6; ++i) placement.push_back(mask >> i & 1);
      least = std::min(least, Reference(graph, topology, placement).best());
    }
    for (const char* name : kSearches) {
      Simulator simulator(graph, topology);
      StrategyOptions options;
      options.tasks = {true, false, true};
      options.steps = 6000;
      options.seed = round;
      INFO(name);
      CHECK(simulator.run(strategy(name).plan(simulator, options)).step_seconds == least);
    }
  }
}

TEST_CASE("searches never return a worse plan than their start, and stop on request", "[sim]") {
  Rng rng(9);
  const TaskGraph graph = random_graph(60, rng, 0.08);
  Simulator simulator(graph, unit_topology(4));
  StrategyOptions options;
  options.tasks = kJoint;
  StrategyOptions heft;
  heft.tasks = {true, false, true};
  options.base = plan_heft(simulator, heft);
  const double given = simulator.run(options.base).step_seconds;
  for (const char* name : kSearches) {
    INFO(name);
    StrategyOptions with = options;
    with.steps = 300;
    int64_t seen = 0;
    double shown = 0;
    with.progress = [&](int64_t step, double best) {
      seen = step;
      shown = best;
    };
    const double found = simulator.run(strategy(name).plan(simulator, with)).step_seconds;
    CHECK(found <= given);
    CHECK(seen == 300);
    CHECK(shown == Approx(found));
    with.stop = [] { return true; };
    CHECK(simulator.run(strategy(name).plan(simulator, with)).step_seconds <= given);
    CHECK(seen == 1);  // the start
  }
}

TEST_CASE("searches move away from plans that run out of memory", "[sim]") {
  // Results of 10 bytes live to the end; a device holds two. The search begins with a plan that does not fit, as the quick
  // ones are stopped.
  TaskGraph graph = a_graph({an_op("a", 1, 10), an_op("b", 1, 10), an_op("c", 1, 10)}, {});
  for (Op& op : graph.ops) op.is_output = true;
  Simulator simulator(graph, unit_topology(2, 0, 20));
  for (const char* name : kSearches) {
    StrategyOptions options;
    options.base.device = {0, 0, 0};
    CHECK_FALSE(simulator.run(options.base).valid);
    options.steps = 200;
    int64_t calls = 0;
    options.stop = [&] { return ++calls == 1; };
    const StepReport r = simulator.run(strategy(name).plan(simulator, options));
    INFO(name);
    CHECK(r.valid);
    CHECK(r.step_seconds == 2);
  }
}

TEST_CASE("block moves separate what is independent", "[sim]") {
  // Program order alternates between the chains, so that runs of the program mix them.
  const TaskGraph graph = four_chains(12);
  Simulator simulator(graph, unit_topology(4));
  StrategyOptions options;
  options.tasks = {true, false, false};
  options.steps = 3000;
  options.base.device.assign(graph.ops.size(), 0);
  const double found = simulator.run(plan_block_moves(simulator, options)).step_seconds;
  CHECK(found == 12 + 2 + 1);  // a chain, a transfer, the end
}

TEST_CASE("a block move changes only its tasks, and is taken back exactly", "[sim]") {
  Rng rng(5);
  const TaskGraph graph = random_graph(50, rng, 0.1);
  Simulator simulator(graph, unit_topology(3));
  for (const Tasks& tasks : {kJoint, Tasks{true, false, false}, Tasks{false, true, false}, Tasks{false, false, true}}) {
    Plan plan;
    BlockMoves moves(simulator, tasks, plan, std::vector<int32_t>(graph.ops.size(), 1));
    REQUIRE(moves.possible());
    StepTrace trace;
    simulator.run(plan, &trace);
    moves.focus(trace);
    const Plan start = plan;
    int changed = 0;
    for (int i = 0; i < 200; ++i) {
      moves.apply(rng);
      check_plan(plan, graph, 3);
      changed += plan != start;
      CHECK((tasks.placement || plan.device == start.device));
      CHECK((tasks.fusion || plan.fusion == start.fusion));
      CHECK((tasks.schedule || plan.schedule == start.schedule));
      moves.undo();
      REQUIRE(plan == start);
    }
    CHECK(changed > 150);
  }
}

TEST_CASE("the order that block moves begin with is the one in which kernels run", "[sim]") {
  Rng rng(6);
  for (int round = 0; round < 20; ++round) {
    const TaskGraph graph = random_graph(40, rng, 0.1);
    Simulator simulator(graph, unit_topology(1));
    Plan plan;
    StepTrace before, after;
    simulator.run(plan, &before);
    BlockMoves moves(simulator, {false, false, true}, plan, {});
    CHECK(plan.schedule.size() == graph.ops.size());
    simulator.run(plan, &after);
    REQUIRE(before.runs.size() == after.runs.size());
    for (size_t r = 0; r < before.runs.size(); ++r) CHECK(before.runs[r].kernel == after.runs[r].kernel);
  }
}

TEST_CASE("quick plans are combinations of the tasks, and the best of them is", "[sim]") {
  Rng rng(7);
  const TaskGraph graph = random_graph(40, rng, 0.1);
  Simulator simulator(graph, unit_topology(2));
  StrategyOptions options;
  options.tasks = kJoint;
  options.default_fusion.assign(graph.ops.size(), 1);
  const std::vector<QuickPlan> plans = quick_plans(simulator, options);
  std::set<std::string> names;
  for (const QuickPlan& plan : plans) names.insert(plan.name);
  CHECK(names.size() == 4 * 3 * 2);
  CHECK(names.count("metis, priority fusion, critical path") == 1);
  CHECK(names.count("single, XLA's fusion") == 1);
  const double best = simulator.run(best_quick_plan(simulator, options).best.plan).step_seconds;
  for (const QuickPlan& plan : plans) CHECK(best <= simulator.run(plan.plan).step_seconds);
  CHECK(best <= simulator.run(plan_single_fused(simulator, options)).step_seconds);
}

}  // namespace hone::sim
