#include "cost/metrics.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.h"
#include "base/rng.h"
#include "cost/evaluation.h"

using namespace hone;
using namespace hone::cost;

namespace {

// Tau-b by its definition.
double slow_tau(const std::vector<double>& a, const std::vector<double>& b) {
  double concordant = 0, discordant = 0, tied_a = 0, tied_b = 0;
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = i + 1; j < a.size(); ++j) {
      const double x = a[i] - a[j], y = b[i] - b[j];
      if (x == 0 && y == 0) continue;
      if (x == 0)
        ++tied_a;
      else if (y == 0)
        ++tied_b;
      else if (x * y > 0)
        ++concordant;
      else
        ++discordant;
    }
  const double scale = std::sqrt((concordant + discordant + tied_a) * (concordant + discordant + tied_b));
  return scale > 0 ? (concordant - discordant) / scale : 0;
}

}  // namespace

TEST_CASE("kendall_tau on small rankings by hand") {
  const std::vector<double> up = {1, 2, 3, 4}, down = {4, 3, 2, 1}, one_swap = {1, 3, 2, 4}, ties = {1, 1, 2, 3};
  CHECK(kendall_tau(up, up) == 1);
  CHECK(kendall_tau(up, down) == -1);
  CHECK(kendall_tau(up, one_swap) == Approx(4.0 / 6));
  CHECK(kendall_tau(up, ties) == Approx(5 / std::sqrt(6.0 * 5)));  // five concordant pairs, one tied in b
  CHECK(kendall_tau(std::vector<double>{1, 1, 1}, std::vector<double>{1, 2, 3}) == 0);
  CHECK(kendall_tau(std::vector<double>{1}, std::vector<double>{1}) == 0);
  CHECK_THROWS_AS(kendall_tau(std::vector<double>{1, NAN}, std::vector<double>{1, 2}), Error);
  CHECK_THROWS_AS(kendall_tau(up, std::vector<double>{1}), InternalError);
}

TEST_CASE("kendall_tau equals its definition on random rankings with ties") {
  Rng rng(1);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<double> a, b;
    const int64_t n = 2 + rng.below(40), values = 2 + rng.below(30);
    for (int64_t i = 0; i < n; ++i) {
      a.push_back(static_cast<double>(rng.below(values)));
      b.push_back(static_cast<double>(rng.below(values)));
    }
    CHECK(kendall_tau(a, b) == Approx(slow_tau(a, b)).margin(1e-12));
  }
}

TEST_CASE("errors of predictions by hand") {
  CHECK(mean_absolute_percentage_error(std::vector<double>{110, 50}, std::vector<double>{100, 100}) == Approx(30));
  // The first kernel's chosen option takes 30 where 20 is possible; the second's is the best.
  const std::vector<RankedKernel> kernels = {{{0.1, 0.5, 0.3}, {30, 20, 40}}, {{2, 1}, {15, 10}}};
  CHECK(best_of_top(kernels[0], 1) == 30);
  CHECK(best_of_top(kernels[0], 2) == 30);
  CHECK(best_of_top(kernels[0], 3) == 20);
  CHECK(best_of_top(kernels[0], 10) == 20);
  CHECK(tile_size_ape(kernels) == Approx(100.0 * 10 / 30));
  CHECK(tile_size_ape(kernels, 10) == 0);
  CHECK(mean_kendall_tau(kernels) == Approx((-1.0 / 3 + 1) / 2));
  CHECK_THROWS_AS(tile_size_ape({}), InternalError);
}

TEST_CASE("pairs that differ by less than a tenth are no matter of order") {
  // 100 and 105 cannot be told apart; of the other two pairs one is in the right order.
  CHECK(tau_of_distinguishable({{2, 1, 1.5}, {100, 105, 150}}) == 0);
  CHECK(tau_of_distinguishable({{2, 1, 3}, {100, 105, 150}}) == 1);
  CHECK(tau_of_distinguishable({{2, 1, 2}, {100, 105, 150}}) == 0.5);  // one tie
  CHECK(tau_of_distinguishable({{2, 1}, {100, 105}}) == 0);
  const std::vector<RankedKernel> kernels = {{{2, 1}, {100, 105}}, {{2, 1}, {100, 150}}};
  CHECK(mean_tau_of_distinguishable(kernels) == -1);  // the first has no such pair
}

TEST_CASE("equal predictions choose the earlier option") { CHECK(best_of_top({{1, 1, 1}, {7, 5, 3}}, 1) == 7); }

TEST_CASE("an evaluation has a row per program and omits kernels that do not count") {
  const std::vector<double> a = {30, 20}, b = {10}, c = {8000}, d = {9000}, e = {100};
  const auto view = [](const char* program, const std::vector<double>& runtimes) {
    KernelView v;
    v.program = program;
    v.family = "f";
    v.runtime_ns = runtimes;
    return v;
  };
  const Evaluation tile = evaluate({view("x", a), view("y", b)}, {{1, 2}, {5}}, false, {"tile"});
  REQUIRE(tile.programs.size() == 1);  // y has nothing to rank
  CHECK(tile.programs[0].program == "x");
  CHECK(tile.ape_top1 == Approx(50));
  CHECK(tile.ape_top10 == 0);
  CHECK(tile.tau == -1);
  CHECK(tile.distinct_tau == -1);
  CHECK(tile.ape_top1_geometric == Approx(50));
  CHECK(tile.ape_top10_geometric == Approx(0.1));  // 0 counts as 0.1 %
  const Evaluation fusion =
      evaluate({view("x", c), view("x", d), view("y", e)}, {{8800}, {9000}, {1}}, true, {"fusion"});
  REQUIRE(fusion.programs.size() == 1);  // y's kernel is shorter than 5 us
  CHECK(fusion.mape == Approx(5));
  CHECK(fusion.tau == 1);
  CHECK(fusion.sum_error == Approx(100 * 800.0 / 17000));
  CHECK_THROWS_AS(evaluate({view("y", e)}, {{1}}, true, {"fusion"}), Error);
}

TEST_CASE("thinning spreads kernels and options evenly") {
  std::vector<double> runtimes;
  std::vector<float> tiles;
  for (int i = 0; i < 10; ++i) {
    runtimes.push_back(i + 1);
    tiles.insert(tiles.end(), {static_cast<float>(i), 0});
  }
  KernelView v;
  v.runtime_ns = runtimes;
  v.tiles = tiles;
  KernelStorage storage;
  const std::vector<KernelView> thinned = thin_out(std::vector<KernelView>(6, v), 3, 5, storage);
  REQUIRE(thinned.size() == 3);
  REQUIRE(thinned[2].options() == 5);
  for (int i = 0; i < 5; ++i) {
    CHECK(thinned[2].runtime_ns[i] == 2 * i + 1);
    CHECK(thinned[2].tiles[2 * i] == 2 * i);
  }
}
