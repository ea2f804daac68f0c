#include "search/option_belief.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.h"
#include "cost/kernel_ranker.h"
#include "tests/tune/fake_measurer.h"
#include "tune/kernel/kernel_tuner.h"

namespace hone::tune {
namespace {

const std::vector<std::string> kTiles = {"default", "tile=1", "tile=2", "tile=4", "tile=8", "tile=1024", "loop"};

OptionBelief even_belief() {
  return {option_points(kTiles), std::vector<double>(kTiles.size()), std::vector<double>(kTiles.size()), 0};
}

// Scores and spreads from tables; missing options have score 0 and spread 0.
class SpreadRanker : public cost::KernelRanker {
 public:
  std::map<std::string, double> score, spread;
  std::string name() const override { return "spread"; }
  std::vector<double> scores(const Kernel& kernel, const std::vector<std::string>& options) override {
    return rank(kernel, options).scores;
  }
  cost::RankedScores rank(const Kernel&, const std::vector<std::string>& options) override {
    cost::RankedScores ranked;
    for (const std::string& option : options) {
      ranked.scores.push_back(score.count(option) ? score[option] : 0);
      ranked.spreads.push_back(spread.count(option) ? spread[option] : 0);
    }
    return ranked;
  }
};

}  // namespace

TEST_CASE("points: doublings of a tile's sides apart, other emitters far away", "[tune]") {
  const std::vector<OptionPoint> points = option_points({"tile=8,8", "tile=8,32", "tile=8,8;unroll=0", "loop"});
  const auto distance = [&](int a, int b) {
    double squares = 0;
    for (size_t i = 0; i < points[a].size(); ++i) squares += std::pow(points[a][i] - points[b][i], 2);
    return std::sqrt(squares);
  };
  CHECK(distance(0, 1) == Approx(2));
  CHECK(distance(0, 2) == Approx(1));
  CHECK(distance(0, 3) > 6);
}

TEST_CASE("a belief agrees with the Gaussian posterior computed by hand", "[tune]") {
  // Two options far apart: only the slope connects them. Prior of y_i = slope lead_i + e_i.
  const BeliefOptions prior{
      .slope = 0.5, .slope_deviation = 0.2, .deviation = 0.1, .per_spread = 1, .length = 1, .noise = 0.05};
  OptionBelief belief({{0}, {100}, {200}}, {0, 1, 2}, {0, 0, 0.3}, 0, prior);
  CHECK(belief.mean(0) == Approx(0));
  CHECK(belief.mean(1) == Approx(0.5));
  CHECK(belief.deviation(1) == Approx(std::hypot(0.2, 0.1)));
  CHECK(belief.deviation(2) == Approx(std::sqrt(0.16 + 0.01 + 0.09)));
  belief.observe(1, -0.1);
  const double variance = 0.04 + 0.01 + 0.0025, covariance = 0.2 * 0.2 * 1 * 2;
  CHECK(belief.mean(2) == Approx(1 + covariance / variance * (-0.1 - 0.5)));
  CHECK(belief.deviation(2) == Approx(std::sqrt(0.26 - covariance * covariance / variance)));
  CHECK(belief.best() == Approx(-0.1));
  CHECK(belief.expected_improvement(1) == 0);
}

TEST_CASE("expected improvement follows its closed form and draws spread before mean", "[tune]") {
  const BeliefOptions prior{
      .slope = 1, .slope_deviation = 0, .deviation = 0.1, .per_spread = 1, .length = 1, .noise = 0.01};
  OptionBelief belief({{0}, {100}, {200}}, {0, 0.1, 0.1}, {0, 0, 0.4}, 0, prior);
  const double s = 0.1, z = -0.1 / s;
  const double below = 0.5 * std::erfc(-z / std::sqrt(2.0)), density = std::exp(-z * z / 2) / std::sqrt(2 * M_PI);
  CHECK(belief.expected_improvement(1) == Approx(-0.1 * below + s * density));
  CHECK(belief.expected_improvement(2) > belief.expected_improvement(1));
  CHECK(belief.next(0.001) == 2);
  CHECK_FALSE(belief.next(1.0));
  belief.rule_out(2);
  CHECK(belief.next(0.001) == 1);
  CHECK(belief.likeliest() == 1);
  CHECK_THROWS_AS(OptionBelief({{0}}, {0, 1}, {0}, 0), InternalError);
}

TEST_CASE("a measurement changes the expectation for near options, and little for far ones", "[tune]") {
  OptionBelief belief = even_belief();
  belief.observe(3, -0.4);  // tile=4
  CHECK(belief.mean(2) < -0.1);
  CHECK(belief.mean(4) < -0.1);
  CHECK(std::abs(belief.mean(5)) < 0.02);
  CHECK(std::abs(belief.mean(6)) < 0.02);
  CHECK(belief.deviation(4) < belief.deviation(5));
}

TEST_CASE("the kernel tuner measures where members disagree, and stops when nothing more is to be expected", "[tune]") {
  SpreadRanker ranker;
  std::vector<std::string> options = {"default", "loop"};
  for (int i = 0; i < 12; ++i) options.push_back("tile=" + std::to_string(1 << i));
  for (const std::string& option : options) ranker.score[option] = option == "default" ? 0 : 3;  // far slower
  ranker.spread["loop"] = 6;  // the members disagree on this one
  FakeMeasurer measurer;
  measurer.kernel = [](auto&, const std::string& value) { return measured(value == "loop" ? 1.5 : 0.5); };
  KernelOptions tuning;
  tuning.ranker = &ranker;
  Rng rng(0);
  const KernelReport report = tune_kernel(a_kernel("k", options), measurer, 1e6, tuning, rng);
  CHECK(report.chosen == "loop");
  CHECK(report.complete);
  CHECK(measurer.kernel_calls.at(0) == "k loop");
  CHECK(report.tried < 8);

  SECTION("where scores alone decide, all of a small space is measured") {
    tuning.by_expectation = false;
    FakeMeasurer plain;
    plain.kernel = measurer.kernel;
    CHECK(tune_kernel(a_kernel("k", options), plain, 1e6, tuning, rng).tried == 13);
  }
  SECTION("top-k bounds the measurements") {
    FakeMeasurer few;
    tuning.top_k = 1;
    CHECK(tune_kernel(a_kernel("k", options), few, 1e6, tuning, rng).tried == 1);
    CHECK(few.kernel_calls.at(0) == "k loop");
  }
}

TEST_CASE("options that won on similar kernels are tried before all others", "[tune]") {
  FakeMeasurer measurer;
  measurer.kernel = [](auto&, const std::string& value) { return measured(value == "tile=64" ? 2.0 : 0.9); };
  std::vector<std::string> options = {"default", "loop"};
  for (int i = 0; i < 12; ++i) options.push_back("tile=" + std::to_string(1 << i));
  KernelOptions tuning;
  tuning.first = [](const Kernel&) { return std::vector<int>{8, 3}; };
  std::vector<std::string> told;
  tuning.on_searched = [&](const Kernel&, const KernelReport& report, const std::vector<Tried>& all) {
    CHECK(report.chosen == "tile=64");
    for (const Tried& t : all) told.push_back(t.value);
  };
  Rng rng(0);
  tune_kernel(a_kernel("k", options), measurer, 1e6, tuning, rng);
  CHECK(measurer.kernel_calls.at(0) == "k tile=64");
  CHECK(measurer.kernel_calls.at(1) == "k tile=2");
  CHECK(told.size() == 13);
}

}  // namespace hone::tune
