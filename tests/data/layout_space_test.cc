#include "data/layout_space.h"

#include <catch2/catch.hpp>
#include <set>

#include "base/error.h"
#include "base/files.h"

namespace hone {
namespace {

Dimension dimension(const std::string& key, std::vector<std::string> options, double weight) {
  return {DecisionKind::Layout, key, std::move(options), 0, weight};
}

// Four nodes; dot.3 (two operands) and t.2 (one) are configurable.
LayoutSpace small_space() {
  LayoutSpace out;
  out.graph.name = "small";
  const char* const opcodes[] = {"parameter", "parameter", "transpose", "dot"};
  for (int i = 0; i < 4; ++i) {
    Node node;
    node.name = i < 2 ? "p." + std::to_string(i) : i == 2 ? "t.2" : "dot.3";
    node.opcode = opcodes[i];
    node.shape.element_type = 11;
    node.shape.dims = {4, 4};
    node.shape.minor_to_major = {1, 0};
    out.graph.nodes.push_back(node);
  }
  out.graph.nodes[2].operands = {1};
  out.graph.nodes[3].operands = {0, 2};
  out.graph.nodes[3].is_root = true;
  out.graph.computations.push_back({"main", 0, 4, 3});
  out.space.dimensions = {dimension("t.2", {"default", "0,1/-/-", "-/0,1/-", "0,1/0,1/-"}, 128),
                          dimension("dot.3", {"default", "-/0,1/-", "-/-/0,1"}, 512)};
  out.nodes = {2, 3};
  return out;
}

Record row(const std::string& decisions, double ratio, const std::string& status = "ok") {
  Record record;
  record.scope = "program";
  record.decisions = decisions;
  record.status = status;
  record.baseline_ns = 1000;
  record.ratio = ratio;
  return record;
}

}  // namespace

TEST_CASE("samples of layouts are distinct, legal, never the default, and larger counts only append", "[tune]") {
  const LayoutSpace layouts = small_space();
  const std::vector<Choice> few = sample_layouts(layouts.space, 5, 7), all = sample_layouts(layouts.space, 1000, 7);
  REQUIRE(few.size() == 5);
  CHECK(std::vector<Choice>(all.begin(), all.begin() + 5) == few);
  const std::set<Choice> distinct(all.begin(), all.end());
  CHECK(distinct.size() == all.size());
  CHECK(all.size() >= 10);  // of 4 * 3 - 1
  CHECK_FALSE(distinct.count(layouts.space.default_choice()));
  for (const Choice& choice : all) CHECK(layouts.space.is_legal(choice));
  CHECK(sample_layouts(layouts.space, 5, 8) != few);
  CHECK(sample_layouts(Space{}, 5, 7).empty());
}

TEST_CASE("layouts become configurations of the data set", "[tune]") {
  const features::TuningRun run = layout_run(small_space(), {3, 2}, 1499.6);
  CHECK(run.runtime_ns == 1500);
  REQUIRE(run.layouts.size() == 2);
  CHECK(run.layouts[0] == std::vector<std::vector<int64_t>>{{0, 1}, {0, 1}, {}});
  CHECK(run.layouts[1] == std::vector<std::vector<int64_t>>{{}, {}, {0, 1}});
  CHECK_THROWS_AS(layout_run(small_space(), {9, 0}, 1), InternalError);
}

TEST_CASE("records of layouts become a graph with run times", "[tune]") {
  const LayoutSpace layouts = small_space();
  const std::vector<Record> rows = {
      row("layout dot.3=-/0,1/-", 0.5),         row("layout dot.3=-/0,1/-", 0.25),
      row("layout dot.3=-/0,1/-", 1),           row("layout dot.3=-/-/0,1|layout t.2=0,1/-/-", 2),
      row("layout t.2=0,1/-/-", 2, "mismatch"), row("layout gone.9=-/0,1/-", 2),
      row("option vector_width=512", 2)};
  const TpuGraph graph = to_tpu_graph(layouts, "small", rows);
  CHECK(graph.node_config_ids == std::vector<int64_t>{2, 3});
  REQUIRE(graph.configurations() == 3);  // XLA's own and two
  CHECK(graph.runtime_ns[0] == 1000);
  CHECK(std::set<double>(graph.runtime_ns.begin(), graph.runtime_ns.end()) == std::set<double>{500, 1000, 2000});
  CHECK(std::set<float>(graph.config_feat.begin(), graph.config_feat.begin() + 36) == std::set<float>{-1});
  const TempDir folder;
  const std::string path = (folder.path() / "small.npz").string();
  write_tpu_graph(path, graph);
  CHECK(read_tpu_graph(path) == graph);
  CHECK(to_tpu_graph(layouts, "small", {}).configurations() == 0);
}

TEST_CASE("decisions of records that are only layouts", "[tune]") {
  Decisions decisions;
  CHECK(layouts_from_text("layout a.1=-/0,1/-|layout b.2=1,0/-/-", decisions));
  CHECK(decisions == Decisions{{DecisionKind::Layout, "a.1", "-/0,1/-"}, {DecisionKind::Layout, "b.2", "1,0/-/-"}});
  CHECK(to_text(decisions) == "layout a.1=-/0,1/-|layout b.2=1,0/-/-");
  CHECK_FALSE(layouts_from_text("", decisions));
  CHECK_FALSE(layouts_from_text("layout a.1=-/0,1/-|option vector_width=512", decisions));
  CHECK_FALSE(layouts_from_text("layout a.1", decisions));
}

}  // namespace hone
