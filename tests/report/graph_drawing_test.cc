#include "report/graph_drawing.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/rng.h"

namespace hone::report {

namespace {

using Edges = std::vector<std::pair<int32_t, int32_t>>;

struct Random {
  std::vector<double> widths;
  Edges edges;
};

// Each box depends on up to three of those before it, mostly near ones.
Random random_graph(int boxes, uint64_t seed) {
  Rng rng(seed);
  Random graph;
  for (int i = 0; i < boxes; ++i) {
    graph.widths.push_back(60 + static_cast<double>(rng.below(120)));
    for (uint64_t n = rng.below(4); i > 0 && n > 0; --n) {
      const int reach = rng.below(10) == 0 ? i : std::min(i, 8);
      graph.edges.emplace_back(i - 1 - static_cast<int>(rng.below(reach)), i);
    }
  }
  return graph;
}

void check_sound(const Layout& layout, const LayoutOptions& options) {
  int overlaps = 0, upwards = 0, outside = 0;
  for (size_t i = 0; i < layout.boxes.size(); ++i) {
    const LayoutBox& a = layout.boxes[i];
    outside += a.x < -0.01 || a.y < 0 || a.x + a.width > layout.width + 0.01 ||
               a.y + options.box_height > layout.height + 0.01;
    for (size_t j = 0; j < i; ++j) {
      const LayoutBox& b = layout.boxes[j];
      overlaps += a.y == b.y && a.x < b.x + b.width && b.x < a.x + a.width;
    }
  }
  for (const LayoutEdge& edge : layout.edges) {
    double y = layout.boxes[edge.from].y;
    for (const auto& point : edge.via) {
      upwards += point.second <= y;
      y = point.second;
    }
    upwards += layout.boxes[edge.to].y <= y;
  }
  CHECK(overlaps == 0);
  CHECK(upwards == 0);
  CHECK(outside == 0);
}

}  // namespace

TEST_CASE("a chain is one straight column", "[tune]") {
  const Layout layout = lay_out({80, 120, 60}, {{0, 1}, {1, 2}});
  REQUIRE(layout.boxes.size() == 3);
  const auto centre = [&](int i) { return layout.boxes[i].x + layout.boxes[i].width / 2; };
  CHECK(centre(0) == Approx(centre(1)));
  CHECK(centre(2) == Approx(centre(1)));
  CHECK(layout.boxes[0].y < layout.boxes[1].y);
  CHECK(layout.boxes[1].y < layout.boxes[2].y);
  CHECK(layout.width == Approx(120));
}

TEST_CASE("an edge over layers bends around the boxes between", "[tune]") {
  const Layout layout = lay_out({80, 80, 80}, {{0, 1}, {1, 2}, {0, 2}, {0, 2}});
  REQUIRE(layout.edges.size() == 3);  // the double edge is drawn once
  const LayoutEdge& around = layout.edges[1];
  REQUIRE(around.via.size() == 1);
  const LayoutBox& between = layout.boxes[1];
  const double x = around.via[0].first;
  CHECK((x < between.x || x > between.x + between.width));
}

TEST_CASE("drawings have no overlaps and no upward edges", "[tune]") {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const Random graph = random_graph(150, seed);
    check_sound(lay_out(graph.widths, graph.edges), {});
  }
}

TEST_CASE("independent boxes share rows instead of one endless line", "[tune]") {
  const Layout layout = lay_out(std::vector<double>(400, 80), {});
  CHECK(layout.width < 40 * 94);
  check_sound(layout, {});
}

TEST_CASE("the same graph gives the same drawing, and an empty graph an empty one", "[tune]") {
  const Random graph = random_graph(80, 7);
  const Layout a = lay_out(graph.widths, graph.edges), b = lay_out(graph.widths, graph.edges);
  for (size_t i = 0; i < a.boxes.size(); ++i) CHECK(a.boxes[i].x == b.boxes[i].x);
  const Layout empty = lay_out({}, {});
  CHECK(empty.boxes.empty());
  CHECK(empty.width == 0);
  CHECK(empty.height == 0);
}

TEST_CASE("thousands of boxes with far edges are drawn", "[tune]") {
  const Random graph = random_graph(4000, 1);
  const Layout layout = lay_out(graph.widths, graph.edges);
  CHECK(layout.boxes.size() == 4000);
}

TEST_CASE("an edge that goes backwards is an internal error", "[tune]") {
  CHECK_THROWS_AS(lay_out({80, 80}, {{1, 0}}), InternalError);
  CHECK_THROWS_AS(lay_out({80}, {{0, 1}}), InternalError);
}

}  // namespace hone::report
