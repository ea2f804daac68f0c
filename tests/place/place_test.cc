#include <catch2/catch.hpp>
#include <map>

#include "base/error.h"
#include "place/place_program.h"
#include "place/place_trace.h"
#include "sim/roofline.h"

namespace hone::place {

namespace {

constexpr int32_t kF32 = 11, kTuple = 13;

Shape f32(std::vector<int64_t> dims) {
  Shape shape;
  shape.element_type = kF32;
  shape.dims = std::move(dims);
  return shape;
}

// Builds a module computation by computation, as XLA lists them: called ones first.
class Builder {
 public:
  int32_t computation(const std::string& name) {
    module_.computations.push_back({name, static_cast<int32_t>(module_.nodes.size()), 0, 0});
    return static_cast<int32_t>(module_.computations.size()) - 1;
  }
  int32_t add(const std::string& name, const std::string& opcode, Shape shape, std::vector<int32_t> operands = {}) {
    Node node;
    node.name = name;
    node.opcode = opcode;
    node.shape = std::move(shape);
    node.operands = std::move(operands);
    node.computation = static_cast<int32_t>(module_.computations.size()) - 1;
    module_.nodes.push_back(node);
    module_.computations.back().root = static_cast<int32_t>(module_.nodes.size()) - 1;
    module_.computations.back().last = static_cast<int32_t>(module_.nodes.size());
    return module_.computations.back().root;
  }
  int32_t parameter(const std::string& name, Shape shape, int64_t number) {
    const int32_t index = add(name, "parameter", std::move(shape));
    module_.nodes[index].parameter_number = number;
    return index;
  }
  Node& node(int32_t index) { return module_.nodes[index]; }
  HloGraph take() {
    module_.entry = static_cast<int32_t>(module_.computations.size()) - 1;
    return std::move(module_);
  }

 private:
  HloGraph module_;
};

// x[8,4] and y[4,16] go into a dot, a wrapped broadcast of v[8] is added, and a loop of 5 iterations ends it.
HloGraph a_module() {
  Builder b;
  b.computation("wrapped");
  const int32_t p = b.parameter("param_0", f32({8}), 0);
  b.add("broadcast.9", "broadcast", f32({8, 16}), {p});
  const int32_t body = b.computation("body");
  const int32_t bp = b.parameter("state", f32({8, 16}), 0);
  b.add("step", "add", f32({8, 16}), {bp, bp});
  b.computation("main");
  const int32_t x = b.parameter("x", f32({8, 4}), 0), y = b.parameter("y", f32({4, 16}), 1),
                v = b.parameter("v", f32({8}), 2);
  const int32_t dot = b.add("dot.1", "dot", f32({8, 16}), {x, y});
  b.node(dot).dot.lhs_contracting = {1};
  const int32_t wide = b.add("wrapped_broadcast", "fusion", f32({8, 16}), {v});
  b.node(wide).called = {0};
  const int32_t bits = b.add("bits", "bitcast", f32({8, 16}), {wide});
  const int32_t sum = b.add("add.2", "add", f32({8, 16}), {dot, bits});
  const int32_t exp = b.add("exp.3", "exponential", f32({8, 16}), {sum});
  const int32_t loop = b.add("while.4", "while", f32({8, 16}), {exp});
  b.node(loop).called = {body};
  Shape pair;
  pair.element_type = kTuple;
  pair.tuple_shapes = {f32({8, 16}), f32({8, 16})};
  b.add("result", "tuple", pair, {loop, sum});
  return b.take();
}

}  // namespace

TEST_CASE("a module becomes a task graph", "[place]") {
  GraphSources sources;
  sources.trip_counts["while.4"] = 5;
  sources.names["broadcast.9"] = "broadcast.3";
  const ProgramGraph program = program_graph(a_module(), sources);
  std::map<std::string, sim::Op> ops;
  std::map<std::string, std::string> instruction;
  for (size_t i = 0; i < program.graph.ops.size(); ++i) {
    ops[program.graph.ops[i].name] = program.graph.ops[i];
    instruction[program.graph.ops[i].name] = program.instructions[i];
  }
  REQUIRE(ops.size() == 8);
  CHECK(ops["x"].kind == sim::OpKind::Input);
  CHECK(ops["dot.1"].kind == sim::OpKind::Matrix);
  CHECK(ops["dot.1"].flops == 2 * 8 * 16 * 4);
  CHECK(ops["dot.1"].output_bytes == 4 * 8 * 16);
  CHECK(ops["broadcast.3"].kind == sim::OpKind::Elementwise);
  CHECK(ops["broadcast.3"].flops == 0);
  CHECK(instruction["broadcast.3"] == "wrapped_broadcast");
  CHECK(ops["exp.3"].special == 8 * 16);
  CHECK(ops["exp.3"].flops == 0);
  CHECK(ops["while.4"].kind == sim::OpKind::Control);
  CHECK(ops["while.4"].flops == 5 * 8 * 16);
  // Each iteration reads both operands of the addition and writes its result; the loop's own operand counts as its
  // edge.
  CHECK(ops["while.4"].written_bytes == Approx(5 * 512 + 5 * 2 * 512 - 512));
  CHECK((ops["while.4"].is_output && ops["add.2"].is_output && !ops["exp.3"].is_output));
  std::map<std::string, double> reads;
  for (const sim::Edge& e : program.graph.edges)
    reads[program.graph.ops[e.from].name + ">" + program.graph.ops[e.to].name] = e.reads;
  CHECK(reads == std::map<std::string, double>{{"x>dot.1", 16},
                                               {"y>dot.1", 8},
                                               {"v>broadcast.3", 16},
                                               {"dot.1>add.2", 1},
                                               {"broadcast.3>add.2", 1},
                                               {"add.2>exp.3", 1},
                                               {"exp.3>while.4", 1}});
}

TEST_CASE("kernels are operations, and loops take the time of theirs", "[place]") {
  GraphSources sources;
  sources.names["broadcast.9"] = "broadcast.3";
  sources.whole_instructions = true;
  PlacedProgram placed;
  placed.compiled = CompiledProgram{a_module(), {{"while.4", 5}}, {}};
  placed.program = program_graph(placed.compiled->module, sources);
  std::map<std::string, double> seconds;
  const auto times = seconds_of_kernels(placed, {{"dot.1", 3}, {"wrapped_broadcast", 2}, {"step", 0.5}});
  for (size_t i = 0; i < times.size(); ++i) {
    CHECK(placed.program.graph.ops[i].name == placed.program.instructions[i]);
    seconds[placed.program.instructions[i]] = times[i];
  }
  CHECK(seconds["dot.1"] == 3);
  CHECK(seconds["wrapped_broadcast"] == 2);
  CHECK(seconds["while.4"] == Approx(5 * 0.5));
  CHECK(seconds["exp.3"] == 0);  // unknown
  const double moved = 4 * 8 * 16 / sim::kHostBytesMoved;
  const auto unknown = seconds_of_kernels(placed, {});
  for (size_t i = 0; i < unknown.size(); ++i)
    CHECK(unknown[i] == (placed.program.instructions[i] == "while.4" ? Approx(5 * moved) : Approx(0)));
}

TEST_CASE("XLA's own costs are taken where they are known", "[place]") {
  GraphSources sources;
  sources.costs["dot.1"] = {7, 3, 100, 50};
  const ProgramGraph program = program_graph(a_module(), sources);
  for (const sim::Op& op : program.graph.ops)
    if (op.name == "dot.1") CHECK((op.flops == 7 && op.special == 3 && op.written_bytes == 50));
}

TEST_CASE("trip counts and names before fusion are read from the text", "[place]") {
  const std::string hlo =
      "  %while.3 = (f32[]) while(%t), condition=%c, body=%b, backend_config={\"known_trip_count\":{\"n\":\"48\"}}\n"
      "  ROOT %add.1 = f32[] add(%a, %b), metadata={op_type=\"@add.7\" source_line=3}\n"
      "  mul.2 = f32[] multiply(a, b), metadata={op_type=\"@mul.9\"}\n";
  CHECK(known_trip_counts(hlo) == std::map<std::string, int64_t>{{"while.3", 48}});
  CHECK(names_before_fusion(hlo) == std::map<std::string, std::string>{{"add.1", "add.7"}, {"mul.2", "mul.9"}});
}

TEST_CASE("task graphs as JSON come back as they were", "[place]") {
  const sim::TaskGraph graph = program_graph(a_module(), {}).graph;
  const sim::TaskGraph back = read_task_graph(to_json(graph).dump(), "g.json");
  CHECK(to_json(back) == to_json(graph));
  CHECK_THROWS_AS(read_task_graph("{\"ops\": [{\"name\": \"a\"}], \"edges\": [[0, 1]]}", "g"), Error);
  CHECK_THROWS_AS(read_task_graph("{\"ops\": [{\"name\": \"a\", \"flops\": \"many\"}]}", "g"), Error);
  CHECK_THROWS_AS(read_task_graph("{\"ops\": [{\"name\": \"a\"}], \"edges\": [[\"a\", \"a\"]]}", "g"), Error);
}

TEST_CASE("a plan's kernels become XLA's decisions", "[place]") {
  PlacedProgram placed;
  placed.program = program_graph(a_module(), {});
  placed.edges = {"broadcast.9>add.2", "add.2>exp.3"};
  const sim::TaskGraph& graph = placed.program.graph;
  std::vector<int32_t> fusion;
  for (const sim::Op& op : graph.ops) fusion.push_back(op.name == "broadcast.9");
  const Decisions decisions = fusion_decisions(placed, sim::fuse(graph, fusion, {}));
  std::map<std::string, std::string> by_edge;
  for (const Decision& d : decisions) by_edge[d.key] = d.value;
  CHECK(by_edge["broadcast.9>add.2"] == "fuse");
  CHECK(by_edge["add.2>exp.3"] == "keep");
  CHECK(by_edge["dot.1>add.2"] == "keep");
}

TEST_CASE("edges inside a kernel are all fused, and inputs are left to XLA", "[place]") {
  PlacedProgram placed;
  sim::TaskGraph& graph = placed.program.graph;
  for (const char* name : {"k", "a", "b", "c"}) {
    sim::Op op;
    op.name = name;
    graph.ops.push_back(op);
  }
  graph.ops[0].kind = sim::OpKind::Input;
  graph.edges = {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}};
  placed.edges = {"k>a", "a>b", "b>c", "a>c", "name>c"};  // "name": a bitcast, no operation of the graph
  std::map<std::string, std::string> by_edge;
  for (const Decision& d : fusion_decisions(placed, sim::fuse(graph, {0, 1, 1, 0}, {}))) by_edge[d.key] = d.value;
  CHECK(by_edge == std::map<std::string, std::string>{{"a>b", "fuse"}, {"a>c", "fuse"}, {"b>c", "fuse"}});
  by_edge.clear();
  for (const Decision& d : fusion_decisions(placed, sim::fuse(graph, {0, 1, 0, 0}, {}))) by_edge[d.key] = d.value;
  CHECK(by_edge == std::map<std::string, std::string>{{"a>b", "fuse"}, {"a>c", "keep"}, {"b>c", "keep"}});
}

TEST_CASE("decisions are written on the instructions of the entry", "[place]") {
  PlacedProgram placed;
  placed.program = program_graph(a_module(), {});
  placed.hlo =
      "HloModule m\n\n%body (state: f32[8]) -> f32[8] {\n  ROOT %dot.1 = f32[8] dot(x, y)\n}\n\nENTRY %main {\n"
      "  %x = f32[8,4] parameter(0)\n"
      "  %dot.1 = f32[8,16] dot(%x, %y), metadata={op_type=\"@dot.1\"}\n"
      "  ROOT %add.2 = f32[8,16] add(%dot.1, %bits), frontend_attributes={a=\"b\"}, metadata={op_type=\"@add.2\" "
      "line=3}\n}\n";
  sim::Plan plan;
  for (const sim::Op& op : placed.program.graph.ops) {
    plan.device.push_back(op.name == "add.2" ? 3 : 1);
    plan.schedule.push_back(static_cast<int32_t>(plan.schedule.size()));
  }
  const std::string text = annotated_hlo(placed, plan);
  CHECK(text.find("  ROOT %dot.1 = f32[8] dot(x, y)\n") != std::string::npos);  // not of the entry
  CHECK(text.find("  %x = f32[8,4] parameter(0)\n") != std::string::npos);
  CHECK(text.find("dot(%x, %y), frontend_attributes={hone_device=\"1\",hone_schedule=\"3\",hone_fusion=\"0\"}\n") !=
        std::string::npos);
  CHECK(text.find("{hone_device=\"3\",") != std::string::npos);
  CHECK(text.find("hone_fusion=\"0\",a=\"b\"}, metadata={line=3}\n") != std::string::npos);
  CHECK(text.find("sharding=") == std::string::npos);  // with one, XLA would run everything on every device
}

}  // namespace hone::place
