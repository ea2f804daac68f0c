#include "sim/task_graph.h"

#include <catch2/catch.hpp>
#include <limits>

#include "base/error.h"
#include "tests/sim/graphs.h"

namespace hone::sim {

TEST_CASE("graphs are sorted with producers first, otherwise in their order", "[sim]") {
  TaskGraph graph;
  graph.ops = {an_op("c", 1), an_op("a", 2), an_op("b", 3), an_op("d", 4)};
  graph.edges = {{1, 2, 1}, {2, 0, 0.5}};
  const TaskGraph out = sorted(graph);
  std::vector<std::string> names;
  for (const Op& op : out.ops) names.push_back(op.name);
  CHECK(names == std::vector<std::string>{"a", "b", "c", "d"});
  REQUIRE(out.edges.size() == 2);
  CHECK((out.edges[1].from == 1 && out.edges[1].to == 2 && out.edges[1].reads == 0.5));
  const Neighbours consumers = consumers_of(out), producers = producers_of(out);
  CHECK(consumers.offset == std::vector<int32_t>{0, 1, 2, 2, 2});
  CHECK(consumers.list == std::vector<int32_t>{1, 2});
  CHECK(producers.offset == std::vector<int32_t>{0, 0, 1, 2, 2});
}

TEST_CASE("a cyclic graph is refused with an operation on the cycle", "[sim]") {
  TaskGraph graph;
  graph.name = "loop";
  graph.ops = {an_op("before", 1), an_op("x", 1), an_op("y", 1), an_op("after", 1)};
  graph.edges = {{0, 1, 1}, {1, 2, 1}, {2, 1, 1}, {2, 3, 1}};
  try {
    sorted(graph);
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(std::string(e.what()) == "the graph has a cycle");
    CHECK((e.where() == "loop: x" || e.where() == "loop: y"));
  }
  graph.edges = {{1, 1, 1}};
  CHECK_THROWS_AS(sorted(graph), Error);
}

TEST_CASE("invalid graphs are refused", "[sim]") {
  TaskGraph good;
  good.ops = {an_op("a", 1), an_op("b", 1)};
  good.edges = {{0, 1, 1}};
  CHECK_NOTHROW(sorted(good));
  const auto refused = [&](auto change) {
    TaskGraph graph = good;
    change(graph);
    CHECK_THROWS_AS(sorted(graph), Error);
  };
  refused([](TaskGraph& g) { g.ops[1].name = "a"; });
  refused([](TaskGraph& g) { g.ops[0].flops = -1; });
  refused([](TaskGraph& g) { g.ops[0].output_bytes = std::numeric_limits<double>::infinity(); });
  refused([](TaskGraph& g) { g.edges[0].to = 2; });
  refused([](TaskGraph& g) { g.edges[0].from = -1; });
  refused([](TaskGraph& g) { g.edges[0].reads = -2; });
  refused([](TaskGraph& g) { g.edges.push_back(g.edges[0]); });
  refused([](TaskGraph& g) { g.ops[1].kind = OpKind::Input; });
  CHECK(op_kind_from_name(op_kind_name(OpKind::Matrix)) == OpKind::Matrix);
  CHECK_THROWS_AS(op_kind_from_name("tensor"), Error);
}

}  // namespace hone::sim
