// Dots that a library's kernel computes, against other strategies of XLA's own (optimize.h).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "graph/decision_family.h"
#include "optimize/optimize.h"
#include "tests/optimize/known_gains.h"
#include "tests/tune/fake_measurer.h"
#include "tests/tune/operation_model.h"
#include "tests/tune/table_ranker.h"

namespace hone::optimize {
namespace {

const Decision kLibrary{DecisionKind::Rewrite,
                        "dot:f32[96,144]*f32[144,576]->f32[96,576]:lhs_contracting_dims={1}, rhs_contracting_dims={0}",
                        kOneDnn};
const Decision kStrategy{DecisionKind::Library, "own", "eigen"};

// A dot that is a kernel of XLA's unless the library computes it.
Lowered lowered_dot(const Decisions& decisions) {
  Lowered l;
  l.dimensions = {{kLibrary.kind, kLibrary.key, {"default", kOneDnn}, 0, 1e9}};
  l.kernels = {tune::a_kernel("beside", {"default", "loop"})};
  if (has(decisions, kLibrary)) return l;
  Kernel dot = tune::a_kernel(kStrategy.key, {"default", kStrategy.value});
  dot.kind = "dot";
  dot.dimension.kind = kStrategy.kind;
  l.kernels.push_back(dot);
  return l;
}

struct Speeds {
  double library = 1, strategy = 1;
};

OptimizeReport optimized(const Speeds& speeds, tune::FakeMeasurer& measurer, double guard_s = 1,
                         double strategy_score = 50) {
  const TempDir folder;
  const cost::OperationRanker operations(tune::write_operation_model(folder, {.of_others = 0.3}), 1, "");
  measurer.lowering = [](const Decisions& decisions, bool) { return lowered_dot(decisions); };
  measurer.speed = [speeds](const Decisions& decisions) {
    if (has(decisions, kLibrary)) return speeds.library;
    return has(decisions, kStrategy) ? speeds.strategy : 1.0;
  };
  OptimizeOptions options;
  options.operations = &operations;
  options.guard_s = guard_s;
  tune::Calibration gains;
  gains.by_transition["dot"] = {
      .from = 0, .gain = std::log(1.12), .low = 0.05, .kernels = 50, .programs = 9, .seen = 80};
  tune::TableRanker ranker({{"own default", 100}, {"own eigen", strategy_score}});
  return optimize_program(measurer, ranker, gains, options);
}

}  // namespace

TEST_CASE("a strategy that beats the library in the program takes its place", "[tune]") {
  tune::FakeMeasurer measurer;
  const OptimizeReport report = optimized({.library = 1.2, .strategy = 1.4}, measurer);
  CHECK(report.decisions == Decisions{kStrategy});
  CHECK(report.guarded);
  CHECK(report.check.ratio == Approx(1.4));  // over default XLA
  REQUIRE(report.operations.size() == 1);
  CHECK_FALSE(report.operations[0].applied);
  CHECK(report.operations[0].chosen == "default");
  CHECK(report.operations[0].note.find("another strategy") != std::string::npos);
  CHECK(report.kernels.size() == 2);
}

TEST_CASE("a strategy that is not faster in the program leaves the library's choice as it was", "[tune]") {
  tune::FakeMeasurer measurer;
  const OptimizeReport report = optimized({.library = 1.2, .strategy = 1.205}, measurer);
  CHECK(report.decisions == Decisions{kLibrary});
  CHECK(report.guarded);
  CHECK(report.check.ratio == Approx(1.2));
  CHECK(report.operations[0].applied);
  CHECK(report.operations[0].note.empty());
  CHECK(report.kernels.size() == 1);
}

TEST_CASE("a strategy under which outputs differ leaves the library's choice as it was", "[tune]") {
  tune::FakeMeasurer measurer;
  measurer.on_inputs = [](const Decisions& decisions, InputKind) {
    return has(decisions, kStrategy) ? tune::Outcome::Mismatch : tune::Outcome::Ok;
  };
  const OptimizeReport report = optimized({.library = 1.2, .strategy = 1.4}, measurer);
  CHECK(report.decisions == Decisions{kLibrary});
  CHECK(report.check.ok());
  CHECK(report.check.ratio == Approx(1.2));
}

TEST_CASE("strategies have no duel where none is chosen, or nothing is timed", "[tune]") {
  tune::FakeMeasurer doubtful, untimed;
  CHECK(optimized({.library = 1.2, .strategy = 1.4}, doubtful, 1, 100.5).decisions == Decisions{kLibrary});
  CHECK(doubtful.program_calls.size() == 1);
  CHECK(optimized({.library = 1.2, .strategy = 1.4}, untimed, /*guard_s=*/0).decisions == Decisions{kLibrary});
  CHECK(untimed.program_calls.size() == 1);
}

}  // namespace hone::optimize
