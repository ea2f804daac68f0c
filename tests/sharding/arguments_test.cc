#include "sharding/arguments.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "sharding/baselines.h"
#include "tests/sharding/graphs.h"

namespace hone::sharding {

using Dims = std::vector<int64_t>;

TEST_CASE("roles and groups of parameters", "[sharding]") {
  const test::ShardGraph g = test::two_blocks();
  const ProgramArguments program = read_arguments(g.graph(), std::nullopt);
  REQUIRE(program.arguments.size() == 6);
  for (int i : {0, 1, 2, 3, 4}) CHECK(program.arguments[i].role == Role::Weight);
  CHECK(program.arguments[5].role == Role::Data);
  CHECK(program.batch == 32);
  CHECK(program.arguments[0].group != program.arguments[1].group);
  REQUIRE(program.products.size() == 4);
  CHECK(program.products[0].weight == 0);
  CHECK(program.products[0].summed == Dims{0});
  CHECK(program.products[0].kept == Dims{1});
  CHECK_FALSE(program.products[0].after_columns);
  CHECK(program.products[1].after_columns);
  CHECK_FALSE(program.products[2].after_columns);
  CHECK(program.products[0].flops == 2.0 * 32 * 64 * 256);
}

TEST_CASE("parameters of repeated layers are one group", "[sharding]") {
  test::ShardGraph g;
  std::vector<int32_t> w;
  for (int layer = 0; layer < 8; ++layer) w.push_back(g.parameter("w" + std::to_string(layer), {64, 64}));
  int32_t x = g.parameter("x", {32, 64});
  for (int layer = 0; layer < 8; ++layer) {
    const std::string n = std::to_string(layer);
    x = g.add("t" + n, "tanh", {32, 64}, {g.dot("d" + n, x, w[layer])});
  }
  const ProgramArguments program = read_arguments(g.graph(), std::nullopt);
  CHECK(program.arguments[0].group == program.arguments[4].group);
  CHECK(program.products[0].group == program.products[4].group);
  // What comes after the last layer differs.
  CHECK(program.arguments[0].group != program.arguments[7].group);
}

TEST_CASE("the state of an optimiser is divided as its weight", "[sharding]") {
  test::ShardGraph g;
  const int32_t w = g.parameter("w", {64, 16}), m = g.parameter("m", {64, 16}), x = g.parameter("x", {8, 64}),
                y = g.parameter("y", {8, 16});
  const int32_t e = g.add("e", "subtract", {8, 16}, {g.dot("d", x, w), y});
  // As JAX writes the other gradient: data on the right side are data all the same.
  const int32_t other = g.add("other", "dot", {16, 64}, {e, x});
  g.node(other).dot.lhs_contracting = {0};
  g.node(other).dot.rhs_contracting = {0};
  const int32_t gradient = g.add("gradient", "dot", {64, 16}, {x, e});
  g.node(gradient).dot.lhs_contracting = {0};
  g.node(gradient).dot.rhs_contracting = {0};
  const int32_t moved = g.add("moved", "add", {64, 16}, {m, gradient});
  g.add("updated", "subtract", {64, 16}, {w, moved});
  const ProgramArguments program = read_arguments(g.graph(), std::nullopt);
  CHECK(program.arguments[0].group == program.arguments[1].group);
  CHECK(program.arguments[1].role == Role::Weight);
  CHECK(program.arguments[2].role == Role::Data);
  CHECK(program.arguments[3].role == Role::Data);
  CHECK(program.batch == 8);
}

TEST_CASE("a weight of a loop is one", "[sharding]") {
  HloGraph graph;
  const auto add = [&](const char* opcode, std::vector<int64_t> dims, std::vector<int32_t> operands = {}) -> Node& {
    Node node;
    node.name = "n" + std::to_string(graph.nodes.size());
    node.opcode = opcode;
    node.shape.element_type = dims.empty() ? 13 : 11;
    node.shape.dims = std::move(dims);
    node.operands = std::move(operands);
    graph.nodes.push_back(node);
    return graph.nodes.back();
  };
  // The body: (x [32, 64], w [3, 64, 64]) -> (x times a slice of w, w).
  add("parameter", {}).parameter_number = 0;
  add("get-tuple-element", {32, 64}, {0}).tuple_index = 0;
  add("get-tuple-element", {3, 64, 64}, {0}).tuple_index = 1;
  add("dynamic-slice", {1, 64, 64}, {2});
  add("reshape", {64, 64}, {3});
  Node& dot = add("dot", {32, 64}, {1, 4});
  dot.dot.lhs_contracting = {1};
  dot.dot.rhs_contracting = {0};
  add("tuple", {}, {5, 2});
  add("parameter", {3, 64, 64}).parameter_number = 0;
  add("parameter", {32, 64}).parameter_number = 1;
  add("tuple", {}, {8, 7});
  add("while", {}, {9}).called = {0};
  add("get-tuple-element", {32, 64}, {10}).tuple_index = 0;
  graph.computations = {{"body", 0, 7, 6}, {"main", 7, 12, 11}};
  graph.entry = 1;
  const ProgramArguments program = read_arguments(graph, std::nullopt);
  CHECK(program.arguments[0].role == Role::Weight);
  CHECK(program.arguments[1].role == Role::Data);
  CHECK(program.batch == 32);
  REQUIRE(program.products.size() == 1);
  CHECK(program.products[0].in_loop);
  CHECK(program.products[0].weight == 0);
  CHECK(program.products[0].summed == Dims{1});
  CHECK(program.products[0].kept == Dims{2});
}

TEST_CASE("a bias is repeated over the rows, labels belong to them", "[sharding]") {
  test::ShardGraph g;
  const int32_t bias = g.parameter("bias", {64}), labels = g.parameter("labels", {32}),
                x = g.parameter("x", {32, 8, 64});
  const int32_t same = g.add("same", "broadcast", {1, 1, 64}, {g.add("r", "reshape", {1, 1, 64}, {bias})});
  g.node(same).dimensions = {0, 1, 2};
  const int32_t wide = g.add("wide", "broadcast", {32, 8, 64}, {g.add("s", "reshape", {1, 64}, {same})});
  g.node(wide).dimensions = {0, 2};
  const int32_t rows = g.add("rows", "broadcast", {32, 8, 64}, {labels});
  g.node(rows).dimensions = {0};
  g.add("out", "multiply", {32, 8, 64}, {g.add("sum", "add", {32, 8, 64}, {x, wide}), rows});
  const ProgramArguments program = read_arguments(g.graph(), std::nullopt);
  CHECK(program.arguments[0].role == Role::Weight);
  CHECK(program.arguments[1].role == Role::Data);
  CHECK(program.arguments[2].role == Role::Data);
  CHECK(program.batch == 32);
}

TEST_CASE("of a table of positions the first are read, and what nothing reads is no data", "[sharding]") {
  // A batch of one sequence: the table is not repeated, only added.
  test::ShardGraph g;
  const int32_t tokens = g.parameter("tokens", {1, 64}), embeddings = g.parameter("embeddings", {4000, 512}),
                positions = g.parameter("positions", {256, 512});
  g.parameter("head", {512, 4000});
  g.parameter("step", {1});
  const int32_t x = g.add("x", "gather", {1, 64, 512}, {embeddings, tokens});
  const int32_t part = g.add("part", "slice", {64, 512}, {positions});
  g.add("sum", "add", {1, 64, 512}, {x, g.add("r", "reshape", {1, 64, 512}, {part})});
  const ProgramArguments program = read_arguments(g.graph(), std::nullopt);
  CHECK(program.arguments[0].role == Role::Data);
  for (int weight : {1, 2, 3}) CHECK(program.arguments[weight].role == Role::Weight);
  CHECK(program.arguments[4].role == Role::Other);
  CHECK(program.batch == 1);
  for (const Baseline& rule : baselines(make_space(parse_mesh("2"), program, false)))
    CHECK(rule.name != "data-parallel");
}

TEST_CASE("a grid of which several parts are read is data", "[sharding]") {
  test::ShardGraph g;
  const int32_t grid = g.parameter("grid", {64, 64});
  g.add("sum", "add", {63, 64}, {g.add("up", "slice", {63, 64}, {grid}), g.add("down", "slice", {63, 64}, {grid})});
  CHECK(read_arguments(g.graph(), std::nullopt).arguments[0].role == Role::Data);
}

TEST_CASE("scales of channels meet a variance before they are repeated", "[sharding]") {
  test::ShardGraph g;
  const int32_t x = g.parameter("x", {4, 32, 32, 16}), scale = g.parameter("scale", {16}),
                average = g.parameter("average", {16}), labels = g.parameter("labels", {4});
  const int32_t variance = g.add("variance", "reduce", {16}, {x});
  g.add("moved", "add", {16}, {average, variance});
  const int32_t deviation =
      g.add("deviation", "rsqrt", {1, 1, 1, 16}, {g.add("v", "reshape", {1, 1, 1, 16}, {variance})});
  const int32_t factor =
      g.add("factor", "multiply", {1, 1, 1, 16}, {deviation, g.add("s", "reshape", {1, 1, 1, 16}, {scale})});
  const int32_t wide = g.add("wide", "broadcast", {4, 32, 32, 16}, {g.add("f", "reshape", {16}, {factor})});
  g.node(wide).dimensions = {3};
  const int32_t normal = g.add("normal", "multiply", {4, 32, 32, 16}, {x, wide});
  // Labels are compared with each other: repeated both ways.
  const int32_t rows = g.add("rows", "broadcast", {4, 4}, {labels});
  g.node(rows).dimensions = {0};
  const int32_t columns = g.add("columns", "broadcast", {4, 4}, {g.add("c", "negate", {4}, {labels})});
  g.node(columns).dimensions = {1};
  g.add("out", "tuple", {}, {normal, g.add("same", "compare", {4, 4}, {rows, columns})});
  const ProgramArguments program = read_arguments(g.graph(), std::nullopt);
  CHECK(program.arguments[0].role == Role::Data);
  CHECK(program.arguments[1].role == Role::Weight);
  CHECK(program.arguments[2].role == Role::Weight);
  CHECK(program.arguments[3].role == Role::Data);
  CHECK(program.batch == 4);
}

TEST_CASE("a weight on the left of what has more dimensions is a weight", "[sharding]") {
  test::ShardGraph g;
  const int32_t w = g.parameter("w", {64, 64}), x = g.parameter("x", {8, 64, 192});
  const int32_t dot = g.add("dot", "dot", {64, 8, 192}, {w, g.add("t", "tanh", {8, 64, 192}, {x})});
  g.node(dot).dot.lhs_contracting = {0};
  g.node(dot).dot.rhs_contracting = {1};
  const ProgramArguments program = read_arguments(g.graph(), std::nullopt);
  CHECK(program.arguments[0].role == Role::Weight);
  CHECK(program.arguments[1].role == Role::Data);
  CHECK(program.batch == 8);
  CHECK(program.products[0].weight == 0);
  CHECK(program.products[0].summed == Dims{0});
  CHECK(program.products[0].kept == Dims{1});
}

TEST_CASE("the batch is the first dimension of most shapes", "[sharding]") {
  test::ShardGraph g;
  const int32_t x = g.parameter("x", {4, 96}), y = g.parameter("y", {4, 96, 8}), a = g.parameter("a", {128, 96}),
                b = g.parameter("b", {128, 96}), c = g.parameter("c", {128, 96}), v = g.parameter("v", {512});
  g.add("out", "tuple", {}, {x, y, a, b, c, v});
  CHECK(read_arguments(g.graph(), std::nullopt).batch == 4);
}

TEST_CASE("weights that are declared are the weights", "[sharding]") {
  const test::ShardGraph g = test::two_blocks();
  const ProgramArguments program = read_arguments(g.graph(), std::vector<int>{0, 5});
  CHECK(program.arguments[0].role == Role::Weight);
  CHECK(program.arguments[1].role == Role::Data);
  CHECK(program.arguments[5].role == Role::Weight);
  CHECK_THROWS_AS(read_arguments(g.graph(), std::vector<int>{6}), Error);
}

TEST_CASE("a transposed weight is known by its own dimensions", "[sharding]") {
  test::ShardGraph g;
  const int32_t w = g.parameter("w", {256, 64}), x = g.parameter("x", {32, 64});
  const int32_t t = g.add("t", "transpose", {64, 256}, {w});
  g.node(t).dimensions = {1, 0};
  g.dot("d", x, t);
  const ProgramArguments program = read_arguments(g.graph(), std::nullopt);
  REQUIRE(program.products.size() == 1);
  CHECK(program.products[0].weight == 0);
  CHECK(program.products[0].summed == Dims{1});
  CHECK(program.products[0].kept == Dims{0});
}

}  // namespace hone::sharding
