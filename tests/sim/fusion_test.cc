#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "sim/planners.h"
#include "tests/sim/graphs.h"

namespace hone::sim {

namespace {

// The names in each kernel, root first.
std::vector<std::vector<std::string>> names_in(const TaskGraph& graph, const Kernels& kernels) {
  std::vector<std::vector<std::string>> out;
  for (int32_t k = 0; k < kernels.size(); ++k) {
    out.push_back({graph.ops[kernels.root[k]].name});
    for (int32_t i = kernels.member_offset[k]; i < kernels.member_offset[k + 1]; ++i)
      if (kernels.member[i] != kernels.root[k]) out.back().push_back(graph.ops[kernels.member[i]].name);
  }
  return out;
}
using Groups = std::vector<std::vector<std::string>>;

// in -> a -> b -> {c, d}
TaskGraph fork() {
  return a_graph(
      {an_op("in", 0, 8, OpKind::Input), an_op("a", 1, 8), an_op("b", 2, 8), an_op("c", 3, 8), an_op("d", 4, 8)},
      {{0, 1}, {1, 2}, {2, 3}, {2, 4}});
}

}  // namespace

TEST_CASE("a producer is fused into all its consumers", "[sim]") {
  const TaskGraph graph = fork();
  CHECK(names_in(graph, fuse(graph, {}, {})) == Groups{{"a"}, {"b"}, {"c"}, {"d"}});
  CHECK(names_in(graph, fuse(graph, {0, 1, 0, 0, 0}, {})) == Groups{{"b", "a"}, {"c"}, {"d"}});
  const Kernels both = fuse(graph, {0, 1, 1, 0, 0}, {});
  CHECK(names_in(graph, both) == Groups{{"c", "a", "b"}, {"d", "a", "b"}});
  CHECK(both.kernel_of == std::vector<int32_t>{-1, -1, -1, 0, 1});
  CHECK(both.read == std::vector<int32_t>{0, 0});
  CHECK(both.read_bytes == std::vector<double>{8, 8});
  // The other order gives the same kernels.
  CHECK(names_in(graph, fuse(graph, {0, 1, 2, 0, 0}, {})) == names_in(graph, both));
}

TEST_CASE("or into none", "[sim]") {
  TaskGraph graph = fork();
  const std::vector<int32_t> all = {1, 1, 1, 1, 1};
  SECTION("when one consumer is a matrix product") {
    graph.ops[4].kind = OpKind::Matrix;
    CHECK(names_in(graph, fuse(graph, all, {})) == Groups{{"b", "a"}, {"c"}, {"d"}});
  }
  SECTION("when a consumer runs on another device") {
    CHECK(names_in(graph, fuse(graph, all, {0, 0, 0, 0, 1})) == Groups{{"b", "a"}, {"c"}, {"d"}});
  }
  SECTION("when it is a result of the program") {
    graph.ops[2].is_output = true;
    CHECK(names_in(graph, fuse(graph, all, {})) == Groups{{"b", "a"}, {"c"}, {"d"}});
  }
  SECTION("when a kernel would grow too large") {
    CHECK(names_in(graph, fuse(graph, {0, 1, 2, 0, 0}, {}, {.max_ops = 2})) == Groups{{"a"}, {"c", "b"}, {"d", "b"}});
  }
  SECTION("when it would be computed too often") {
    graph.edges[1].reads = 100;  // b reads a
    CHECK(names_in(graph, fuse(graph, all, {}, {.max_ops = 64, .max_repeats = 99})) ==
          Groups{{"a"}, {"c", "b"}, {"d", "b"}});
  }
}

TEST_CASE("priorities decide when not everything fits", "[sim]") {
  // a and b both go into c, which has room for one.
  const TaskGraph graph = a_graph({an_op("a", 1), an_op("b", 1), an_op("c", 1)}, {{0, 2}, {1, 2}});
  CHECK(names_in(graph, fuse(graph, {1, 2, 0}, {}, {.max_ops = 2})) == Groups{{"a"}, {"c", "b"}});
  CHECK(names_in(graph, fuse(graph, {2, 1, 0}, {}, {.max_ops = 2})) == Groups{{"b"}, {"c", "a"}});
}

TEST_CASE("the cost of a fused producer is counted as often as it is read", "[sim]") {
  // A reduction of 2 s, broadcast 10 times: fused into the broadcast it is computed for every element.
  TaskGraph graph =
      a_graph({an_op("sum", 2, 4, OpKind::Reduce), an_op("wide", 0, 40), an_op("use", 5, 40)}, {{0, 1}, {1, 2}});
  graph.edges[0].reads = 10;
  const Kernels kernels = fuse(graph, {1, 1, 0}, {});
  CHECK(kernels.evaluations == std::vector<double>{10, 1, 1});
  Simulator simulator(graph, unit_topology(1));
  CHECK(simulator.run({}).step_seconds == 7);
  CHECK(simulator.run({{}, {}, {1, 1, 0}}).step_seconds == 25);
  CHECK(simulator.run({{}, {}, {0, 1, 0}}).step_seconds == 7);
}

TEST_CASE("code is not generated too often", "[sim]") {
  // a -> b -> c -> root, where each reads the previous one at two indices: through a slice and through its reverse.
  std::vector<Op> ops = {an_op("in", 0, 8, OpKind::Input), an_op("x0", 1, 8)};
  std::vector<std::pair<int, int>> edges = {{0, 1}};
  for (int level = 1; level <= 5; ++level) {
    const int before = static_cast<int>(ops.size()) - 1;
    for (const char* side : {"l", "r"}) {
      ops.push_back(an_op(side + std::to_string(level), 1, 8, OpKind::Move));
      ops.back().dims = {4};  // all others are scalars: another index
    }
    ops.push_back(an_op("x" + std::to_string(level), 1, 8));
    edges.insert(edges.end(),
                 {{before, before + 1}, {before, before + 2}, {before + 1, before + 3}, {before + 2, before + 3}});
  }
  const TaskGraph graph = a_graph(std::move(ops), std::move(edges));
  const std::vector<int32_t> all(graph.ops.size(), 1);
  // Among x5's producers the code of x1 would be generated 2^4 = 16 times: it stays a kernel, with x0.
  const Kernels kernels = fuse(graph, all, {});
  REQUIRE(kernels.size() == 2);
  CHECK(graph.ops[kernels.root[0]].name == "x1");
  CHECK(graph.ops[kernels.root[1]].name == "x5");
  CHECK(fuse(graph, all, {}, {.max_copies = 16}).size() == 2);
  CHECK(fuse(graph, all, {}, {.max_copies = 32}).size() == 1);
  CHECK(fuse(graph, all, {}, {.max_copies = 0}).size() == 1);
}

TEST_CASE("readers of the same shape share the code of their producer", "[sim]") {
  // in -> a -> {b0, ..., b19} -> sum: one index throughout.
  std::vector<Op> ops = {an_op("in", 0, 8, OpKind::Input), an_op("a", 1, 8)};
  std::vector<std::pair<int, int>> edges = {{0, 1}};
  for (int i = 0; i < 20; ++i) {
    ops.push_back(an_op("b" + std::to_string(i), 1, 8));
    edges.insert(edges.end(), {{1, 2 + i}, {2 + i, 22}});
  }
  ops.push_back(an_op("sum", 1, 8));
  const TaskGraph graph = a_graph(std::move(ops), std::move(edges));
  CHECK(fuse(graph, std::vector<int32_t>(graph.ops.size(), 1), {}).size() == 1);
}

TEST_CASE("code with loops joins a larger kernel only for a single reader", "[sim]") {
  // x -> sum (a reduction) -> {u, v} -> w
  std::vector<Op> ops = {an_op("x", 1, 8), an_op("sum", 1, 4, OpKind::Reduce), an_op("u", 1, 4), an_op("v", 1, 4),
                         an_op("w", 1, 4)};
  ops[1].opcode = "reduce";
  ops[0].dims = {2};
  SECTION("two readers") {
    const TaskGraph graph = a_graph(ops, {{0, 1}, {1, 2}, {1, 3}, {2, 4}, {3, 4}});
    CHECK(names_in(graph, fuse(graph, {1, 1, 1, 1, 0}, {})) == Groups{{"sum", "x"}, {"w", "u", "v"}});
  }
  SECTION("one reader") {
    const TaskGraph graph = a_graph(ops, {{0, 1}, {1, 2}, {0, 3}, {2, 4}, {3, 4}});
    CHECK(names_in(graph, fuse(graph, {0, 1, 1, 1, 0}, {})) == Groups{{"x"}, {"w", "sum", "u", "v"}});
  }
  SECTION("six reductions in a kernel, not seven") {
    std::vector<Op> sums;
    std::vector<std::pair<int, int>> edges;
    for (int i = 0; i < 7; ++i) {
      sums.push_back(ops[1]);
      sums.back().name = "sum" + std::to_string(i);
      edges.push_back({i, 7});
    }
    sums.push_back(ops[4]);
    const TaskGraph graph = a_graph(sums, edges);
    CHECK(fuse(graph, std::vector<int32_t>(8, 1), {}).size() == 2);
  }
  SECTION("reductions over windows are never fused") {
    ops[1].opcode = "reduce-window";
    const TaskGraph graph = a_graph(ops, {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
    CHECK(names_in(graph, fuse(graph, {1, 1, 1, 1, 0}, {})) == Groups{{"x"}, {"sum"}, {"w", "u", "v"}});
  }
}

TEST_CASE("the gain of fusing an operation agrees with the simulator", "[sim]") {
  Rng rng(11);
  int fused = 0;
  for (int round = 0; round < 40; ++round) {
    TaskGraph graph = random_graph(12, rng, 0.2);
    for (Edge& edge : graph.edges) edge.reads = 0.5 * static_cast<double>(1 + rng.below(4));
    for (Op& op : graph.ops) op.kind = static_cast<OpKind>(1 + rng.below(5));
    Topology topology = unit_topology(1);
    topology.devices[0].bytes_per_second = 3;
    topology.devices[0].overlap = 0.6;
    topology.devices[0].launch_seconds = 0.25;
    Costs costs;
    for (int32_t i = 0; i < graph.size(); ++i) costs.factor.push_back(0.5 * static_cast<double>(1 + rng.below(3)));
    Simulator simulator(graph, topology, costs, {.max_copies = 0});
    const double unfused = simulator.run({}).step_seconds;
    for (int32_t op = 0; op < graph.size(); ++op) {
      std::vector<int32_t> one(graph.ops.size(), 0);
      one[op] = 1;
      const StepReport report = simulator.run({{}, {}, one});
      const auto gain = simulator.fusion_gain(op, 0);
      CHECK(gain.has_value() == (report.kernels < graph.size()));
      // A consumer that shares another operand with the operation reads it once when fused, which the estimate ignores.
      if (gain) CHECK(unfused - report.step_seconds >= Approx(*gain).margin(1e-9));
      fused += gain.has_value();
    }
  }
  CHECK(fused > 40);
}

TEST_CASE("priority fusion fuses what saves time and nothing else", "[sim]") {
  // x -> sum -> wide -> use: fused into the broadcast, the sum would be computed ten times.
  TaskGraph graph =
      a_graph({an_op("x", 1, 40), an_op("sum", 2, 4, OpKind::Reduce), an_op("wide", 0, 40), an_op("use", 5, 40)},
              {{0, 1}, {1, 2}, {2, 3}});
  graph.edges[1].reads = 10;
  Topology topology = unit_topology(1);
  topology.devices[0].launch_seconds = 0.1;
  Simulator simulator(graph, topology);
  StrategyOptions options;
  options.tasks = {false, true, false};
  const Plan plan = plan_priority_fusion(simulator, options);
  CHECK(plan.fusion[0] > 0);
  CHECK(plan.fusion[1] == 0);
  CHECK(plan.fusion[2] > 0);
  CHECK(simulator.run(plan).kernels == 2);
}

TEST_CASE("random fusions keep the rules", "[sim]") {
  Rng rng(7);
  for (int round = 0; round < 300; ++round) {
    TaskGraph graph = random_graph(3 + static_cast<int>(rng.below(20)), rng, 0.25);
    for (Op& op : graph.ops) op.kind = static_cast<OpKind>(1 + rng.below(6));
    std::vector<int32_t> fusion, devices;
    for (int32_t i = 0; i < graph.size(); ++i) {
      fusion.push_back(static_cast<int32_t>(rng.below(4)));
      devices.push_back(static_cast<int32_t>(rng.below(2)));
    }
    const FusionRules rules{.max_ops = 4};
    const Kernels kernels = fuse(graph, fusion, devices, rules);
    std::map<int32_t, std::set<int32_t>> homes;
    for (int32_t k = 0; k < kernels.size(); ++k) {
      CHECK(kernels.member_offset[k + 1] - kernels.member_offset[k] <= rules.max_ops);
      for (int32_t i = kernels.member_offset[k]; i < kernels.member_offset[k + 1]; ++i) {
        homes[kernels.member[i]].insert(k);
        CHECK(devices[kernels.member[i]] == devices[kernels.root[k]]);
      }
      // Producers are earlier kernels: no cycles, one writer each.
      for (int32_t i = kernels.read_offset[k]; i < kernels.read_offset[k + 1]; ++i) {
        REQUIRE(kernels.kernel_of[kernels.read[i]] >= 0);
        CHECK(kernels.kernel_of[kernels.read[i]] < k);
      }
    }
    const Neighbours consumers = consumers_of(graph);
    for (int32_t op = 0; op < graph.size(); ++op) {
      if (kernels.kernel_of[op] >= 0) {
        CHECK(homes[op] == std::set<int32_t>{kernels.kernel_of[op]});
        continue;
      }
      // Fused away: it is computed wherever a consumer is.
      CHECK((fusion[op] > 0 && fusible_producer(graph.ops[op])));
      std::set<int32_t> expected;
      for (int32_t e = consumers.offset[op]; e < consumers.offset[op + 1]; ++e)
        expected.insert(homes[consumers.list[e]].begin(), homes[consumers.list[e]].end());
      CHECK(homes[op] == expected);
    }
  }
}

}  // namespace hone::sim
