// Layouts that hone optimize chooses, each after a duel (layouts.h).
#include "optimize/layouts.h"

#include <catch2/catch.hpp>

#include "optimize/optimize.h"
#include "tests/optimize/known_gains.h"
#include "tests/tune/fake_measurer.h"
#include "tests/tune/table_ranker.h"

namespace hone::optimize {

namespace {

const Decision kGood{DecisionKind::Layout, "dot.1", "0,1/-/-"}, kBad{DecisionKind::Layout, "reshape.2", "-/0,1/-"},
    kUnlikely{DecisionKind::Layout, "reshape.3", "0,1/-/-"};

tune::FakeMeasurer measurer_of(double good, double bad) {
  tune::FakeMeasurer measurer;
  measurer.lowering = [](const Decisions&, bool) { return Lowered{}; };
  measurer.speed = [=](const Decisions& d) { return (has(d, kGood) ? good : 1) * (has(d, kBad) ? bad : 1); };
  return measurer;
}

OptimizeReport optimized(tune::FakeMeasurer& measurer, double guard_s) {
  OptimizeOptions options;
  options.guard_s = guard_s;
  options.layouts = [](const Decisions&) {
    return std::vector<tune::PredictedLayout>{{kBad, 0.5}, {kGood, 0.2}, {kUnlikely, kLeastLayoutMargin / 2}};
  };
  tune::TableRanker ranker({});
  return optimize_program(measurer, ranker, {}, options);
}

}  // namespace

TEST_CASE("a layout that wins its duel stays, one that loses does not", "[tune]") {
  tune::FakeMeasurer measurer = measurer_of(1.3, 0.8);
  const OptimizeReport report = optimized(measurer, 1);
  CHECK(report.decisions == Decisions{kGood});
  REQUIRE(report.layouts.size() == 1);
  CHECK(report.layouts[0].gain == Approx(1.3).epsilon(0.01));
  CHECK(report.guarded);
  CHECK(report.check.ratio == Approx(1.3).epsilon(0.01));
}

TEST_CASE("without a winner, and without a guard, layouts stay XLA's", "[tune]") {
  tune::FakeMeasurer slower = measurer_of(0.9, 0.8), faster = measurer_of(1.3, 1.3);
  CHECK(optimized(slower, 1).decisions.empty());
  const OptimizeReport unguarded = optimized(faster, 0);
  CHECK(unguarded.decisions.empty());
  CHECK(unguarded.layouts.empty());
}

TEST_CASE("layouts that are hardly predicted to gain have no duel", "[tune]") {
  CHECK(layout_candidates({{kUnlikely, kLeastLayoutMargin / 2}}).empty());
  CHECK(layout_candidates({{kGood, 0.2}, {kUnlikely, kLeastLayoutMargin / 2}}).size() == 1);
}

}  // namespace hone::optimize
