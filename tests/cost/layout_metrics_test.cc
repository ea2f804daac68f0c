#include "cost/layout_metrics.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "base/rng.h"
#include "tests/learn/layout_graphs.h"

namespace hone::cost {

using learn::chain_graph;

TEST_CASE("metrics of a ranking by hand", "[cost]") {
  const std::vector<double> runtime = {100, 110, 120, 200}, right = {1, 2, 3, 4}, wrong = {4, 3, 2, 1};
  LayoutScore score = score_layouts(right, runtime);
  CHECK(score.tau == Approx(1));
  CHECK(score.pair_accuracy == Approx(1));
  CHECK(score.slowdown_top1 == Approx(0).margin(1e-12));
  CHECK(score.tile_score == Approx(1));
  score = score_layouts(wrong, runtime);
  CHECK(score.tau == Approx(-1));
  CHECK(score.pair_accuracy == Approx(0).margin(1e-12));
  CHECK(score.slowdown_top1 == Approx(1));
  CHECK(score.slowdown_top10 == Approx(0).margin(1e-12));
  // Six configurations, the best ranked last: the best of the top 5 is 110.
  const std::vector<double> six = {110, 120, 130, 140, 150, 100}, by = {1, 2, 3, 4, 5, 6};
  CHECK(score_layouts(by, six).tile_score == Approx(2 - 1.1));
  // A tied prediction is not a correct order; pairs of equal run times are ignored.
  CHECK(ordered_pair_accuracy(std::vector<double>{1, 1, 2}, std::vector<double>{5, 6, 6}) == Approx(0.5));
  // Compared with counting pair by pair.
  Rng rng(3);
  std::vector<double> a, b;
  for (int i = 0; i < 200; ++i) a.push_back(rng.below(40)), b.push_back(rng.below(40));
  double pairs = 0, ordered = 0;
  for (int i = 0; i < 200; ++i)
    for (int j = 0; j < 200; ++j)
      if (b[i] > b[j]) ++pairs, ordered += a[i] > a[j];
  CHECK(ordered_pair_accuracy(a, b) == Approx(ordered / pairs));
}

TEST_CASE("the most-frequent-layout rule finds the layout of the fastest", "[cost]") {
  options::ConfigGraph graph = chain_graph(1, 40, 1);
  std::vector<uint64_t> packed;
  graph.runtime_ns.clear();
  for (int i = 0; i < 40; ++i) {
    packed.push_back(static_cast<uint64_t>(i % 4));
    graph.runtime_ns.push_back(i % 4 == 2 ? 10 + i : 1000 + i);
  }
  graph.configs = options::PackedConfigs::hold(packed);
  std::vector<int32_t> all(40);
  std::iota(all.begin(), all.end(), 0);
  FrequentLayouts rule;
  rule.fit(graph, all, graph.runtime_ns);
  REQUIRE(rule.chosen().size() == 1);
  CHECK(rule.chosen().begin()->second == 2);
  const std::vector<double> scores = FrequentLayouts::from(rule.chosen()).predict(graph, all);
  for (int i = 0; i < 40; ++i) CHECK(scores[i] == (i % 4 == 2 ? 0 : 1));
}

}  // namespace hone::cost
