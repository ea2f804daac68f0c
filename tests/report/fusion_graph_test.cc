#include "report/fusion_graph.h"

#include <catch2/catch.hpp>

namespace hone::report {

namespace {

// A module built node by node; operands are indices.
struct Builder {
  HloGraph module;
  int32_t begin(const std::string& name) {
    Computation c;
    c.name = name;
    c.first = c.last = static_cast<int32_t>(module.nodes.size());
    module.computations.push_back(c);
    return static_cast<int32_t>(module.computations.size()) - 1;
  }
  int32_t add(const std::string& name, const std::string& opcode, std::vector<int32_t> operands = {},
              std::vector<int32_t> called = {}) {
    Node node;
    node.name = name;
    node.opcode = opcode;
    node.shape.element_type = 11;
    node.shape.dims = {64, 128};
    node.operands = std::move(operands);
    node.called = std::move(called);
    node.computation = static_cast<int32_t>(module.computations.size()) - 1;
    module.nodes.push_back(node);
    module.computations.back().root = module.computations.back().last;
    ++module.computations.back().last;
    return static_cast<int32_t>(module.nodes.size()) - 1;
  }
};

const DrawnNode* find(const DrawnGraph& graph, const std::string& name) {
  for (const DrawnNode& node : graph.nodes)
    if (node.name == name) return &node;
  return nullptr;
}

bool has_edge(const DrawnGraph& graph, const std::string& from, const std::string& to) {
  for (const DrawnEdge& edge : graph.edges)
    if (graph.nodes[edge.from].name == from && graph.nodes[edge.to].name == to) return true;
  return false;
}

// body { p; gte 0, gte 1; fused(gte 1); tuple } entry { x, w; dot(x, w); tuple(dot, w); while; gte; copy }
HloGraph a_loop() {
  Builder b;
  const int32_t fused = b.begin("fused");
  const int32_t in = b.add("fp", "parameter");
  b.add("m2", "multiply", {b.add("m1", "multiply", {in, in}), in});
  b.module.nodes.back().is_root = true;
  const int32_t body = b.begin("body");
  const int32_t p = b.add("p", "parameter");
  const int32_t first = b.add("g0", "get-tuple-element", {p}), second = b.add("g1", "get-tuple-element", {p});
  b.module.nodes[first].tuple_index = 0;
  b.module.nodes[second].tuple_index = 1;
  const int32_t square = b.add("square_fusion", "fusion", {second}, {fused});
  b.add("t", "tuple", {first, square});
  const int32_t condition = b.begin("condition");
  b.add("less", "compare", {b.add("cp", "parameter")});
  b.module.entry = b.begin("main");
  const int32_t x = b.add("x", "parameter"), w = b.add("w", "parameter");
  const int32_t dot = b.add("dot.1", "dot", {x, w});
  const int32_t carried = b.add("carried", "tuple", {dot, w});
  const int32_t loop = b.add("while.2", "while", {carried}, {body, condition});
  const int32_t taken = b.add("taken", "get-tuple-element", {loop});
  b.module.nodes[taken].tuple_index = 1;
  b.add("copy.3", "copy", {b.add("cast", "bitcast", {taken})});
  return b.module;
}

}  // namespace

TEST_CASE("kernels are drawn, edges go through operations without cost", "[tune]") {
  const DrawnGraph graph = draw_graph(a_loop(), {{"dot.1", "k1"}, {"square_fusion", "k2"}});
  CHECK(graph.nodes.size() == 4);
  CHECK(has_edge(graph, "dot.1", "while.2"));
  CHECK(has_edge(graph, "while.2", "copy.3"));
  CHECK(graph.edges.size() == 2);
  REQUIRE(find(graph, "dot.1"));
  CHECK(find(graph, "dot.1")->kernel == "k1");
  CHECK(find(graph, "dot.1")->inputs == std::vector<std::string>{"x", "w"});
  CHECK(find(graph, "dot.1")->shape == "f32[64,128]");
  CHECK(find(graph, "copy.3")->kernel.empty());
  CHECK(find(graph, "while.2")->inputs == std::vector<std::string>{"w"});
}

TEST_CASE("a loop's body is a part of its own, its tiny condition is not", "[tune]") {
  const DrawnGraph graph = draw_graph(a_loop(), {});
  REQUIRE(graph.parts.size() == 2);
  CHECK(graph.parts[0].title == "entry");
  CHECK(graph.parts[1].title == "body of while.2");
  const DrawnNode* square = find(graph, "square_fusion");
  REQUIRE(square);
  CHECK(square->inside == std::vector<std::pair<std::string, int>>{{"multiply", 2}});
  CHECK(square->inputs == std::vector<std::string>{"p[1]"});
  CHECK(graph.fusions == 1);
  CHECK(graph.fused == 2);
  // Parts lie side by side.
  const DrawnPart &a = graph.parts[0], &b = graph.parts[1];
  CHECK((b.x >= a.x + a.width || b.y >= a.y + a.height));
  CHECK(square->x >= b.x);
  CHECK(square->x + square->width <= b.x + b.width + 0.01);
}

TEST_CASE("a program of parameters alone has nothing to draw", "[tune]") {
  Builder b;
  b.module.entry = b.begin("main");
  b.add("x", "parameter");
  const DrawnGraph graph = draw_graph(b.module, {});
  CHECK(graph.nodes.empty());
  CHECK(graph.parts.empty());
}

TEST_CASE("shapes print as XLA prints them", "[tune]") {
  Shape scalar, tuple;
  scalar.element_type = 4;
  tuple.element_type = 13;
  tuple.tuple_shapes = {scalar, scalar};
  tuple.tuple_shapes[1].element_type = 16;
  tuple.tuple_shapes[1].dims = {2, 3};
  CHECK(shape_text(tuple) == "(s32[], bf16[2,3])");
}

}  // namespace hone::report
