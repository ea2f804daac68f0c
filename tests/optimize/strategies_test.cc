// Dots in a library's form, against XLA's own dots and another library for all of them in the same program (optimize.h).
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
const Decision kWhole{DecisionKind::Library, "program", "eigen"};
const Decision kBeside{DecisionKind::Codegen, "beside", "tile=8"};

// A dot that is a kernel of XLA's unless the library computes it.
Lowered lowered_dot(const Decisions& decisions) {
  Lowered l;
  l.dimensions = {{kLibrary.kind, kLibrary.key, {"default", kOneDnn}, 0, 1e9},
                  {kWhole.kind, kWhole.key, {"default", kWhole.value}, 0, 0}};
  l.kernels = {tune::a_kernel("beside", {"default", "loop", "tile=8"})};
  if (has(decisions, kLibrary)) return l;
  Kernel dot = tune::a_kernel(kStrategy.key, {"default", kStrategy.value});
  dot.kind = "dot";
  dot.dimension.kind = kStrategy.kind;
  l.kernels.push_back(dot);
  return l;
}

struct Chosen {
  double guard_s = 1;
  double strategy_score = 50, beside_score = 200;  // below 100: better than the default
  double dots = 0;                                 // share of the predicted run; none of them reads from memory
  bool model = true;                               // of operations
};

// By what each decision multiplies the speed.
struct Speeds {
  double library = 1, strategy = 1, beside = 1, whole = 1;
};

OptimizeReport optimized(const Speeds& speeds, tune::FakeMeasurer& measurer, const Chosen& chosen = {}) {
  const TempDir folder;
  const cost::OperationRanker operations(tune::write_operation_model(folder, {.of_others = 0.3}), 1, "");
  measurer.lowering = [](const Decisions& decisions, bool) { return lowered_dot(decisions); };
  measurer.speed = [speeds](const Decisions& decisions) {
    return (has(decisions, kLibrary) ? speeds.library : 1) * (has(decisions, kStrategy) ? speeds.strategy : 1) *
           (has(decisions, kBeside) ? speeds.beside : 1) * (has(decisions, kWhole) ? speeds.whole : 1);
  };
  OptimizeOptions options;
  if (chosen.model) options.operations = &operations;
  options.predict = [chosen](const Lowered&) { return PredictedRun{.ns = 1e6, .dots = chosen.dots}; };
  options.form_gains.by_transition["library of the whole program eigen"] = {
      .from = 0.1, .gain = 0.06, .low = 0.01, .kernels = 30, .programs = 30, .seen = 50};
  options.guard_s = chosen.guard_s;
  tune::Calibration gains = gains_from_one();
  gains.by_transition["dot"] = {
      .from = 0, .gain = std::log(1.12), .low = 0.05, .kernels = 50, .programs = 9, .seen = 80};
  tune::TableRanker ranker({{"own default", 100},
                            {"own eigen", chosen.strategy_score},
                            {"beside default", 100},
                            {"beside tile=8", chosen.beside_score}});
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
  CHECK(report.operations[0].note.find("own dots") != std::string::npos);
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

TEST_CASE("a library that is slower beside other choices than XLA's own dot is given up", "[tune]") {
  tune::FakeMeasurer measurer;
  const OptimizeReport report =
      optimized({.library = 0.9, .beside = 1.3}, measurer, {.strategy_score = 200, .beside_score = 50});
  CHECK(report.decisions == Decisions{kBeside});
  CHECK(report.check.ratio == Approx(1.3));
  CHECK_FALSE(report.operations[0].applied);
}

TEST_CASE("XLA's own dots have no duel where they would be default XLA, or nothing is timed", "[tune]") {
  tune::FakeMeasurer doubtful, untimed;
  CHECK(optimized({.library = 1.2}, doubtful, {.strategy_score = 200}).decisions == Decisions{kLibrary});
  CHECK(doubtful.program_calls.size() == 1);
  CHECK(optimized({.library = 1.2, .strategy = 1.4}, untimed, {.guard_s = 0}).decisions == Decisions{kLibrary});
  CHECK(untimed.program_calls.size() == 1);
}

TEST_CASE("another library for all dots is taken where the program is faster with it, whatever its margin", "[tune]") {
  tune::FakeMeasurer measurer;
  const OptimizeReport report =
      optimized({.library = 1.2, .whole = 1.5}, measurer, {.strategy_score = 200, .dots = 0.5});
  CHECK(report.decisions == Decisions{kWhole});
  CHECK(report.guarded);
  CHECK(report.check.ratio == Approx(1.5));  // over default XLA
  REQUIRE(report.forms.size() == 1);
  CHECK(report.forms[0].applied);
  CHECK(report.forms[0].margin == 0);
  CHECK(report.forms[0].gain == Approx(1.5 / 1.2));  // over the program without it
  CHECK_FALSE(report.operations[0].applied);
  CHECK(report.operations[0].note.find("another library") != std::string::npos);
}

TEST_CASE("another library is tried where models choose nothing, too", "[tune]") {
  tune::FakeMeasurer faster, slower;
  const Chosen nothing{.strategy_score = 200, .dots = 0.5, .model = false};
  CHECK(optimized({.whole = 1.3}, faster, nothing).decisions == Decisions{kWhole});
  const OptimizeReport report = optimized({.whole = 0.9}, slower, nothing);
  CHECK(report.decisions.empty());
  CHECK(report.forms.empty());
  CHECK(report.verified);
}

TEST_CASE("of three ways of the dots the fastest is taken that is right", "[tune]") {
  tune::FakeMeasurer measurer, wrong;
  wrong.on_inputs = [](const Decisions& decisions, InputKind) {
    return has(decisions, kWhole) ? tune::Outcome::Mismatch : tune::Outcome::Ok;
  };
  const Speeds speeds{.library = 1.1, .strategy = 1.2, .whole = 1.2};
  CHECK(optimized(speeds, measurer, {.dots = 0.5}).decisions == Decisions{kStrategy, kWhole});
  CHECK(measurer.program_calls.size() == 3);  // two duels of ways, and the check
  CHECK(optimized(speeds, wrong, {.dots = 0.5}).decisions == Decisions{kStrategy});
}

TEST_CASE("another library has no duel where dots take little, or nothing is timed", "[tune]") {
  tune::FakeMeasurer few, untimed;
  const Speeds speeds{.library = 1.2, .whole = 1.5};
  CHECK(optimized(speeds, few, {.strategy_score = 200, .dots = 0.04}).decisions == Decisions{kLibrary});
  CHECK(few.program_calls.size() == 1);
  CHECK(optimized(speeds, untimed, {.guard_s = 0, .strategy_score = 200, .dots = 0.5}).decisions ==
        Decisions{kLibrary});
  CHECK(untimed.program_calls.size() == 1);
}

}  // namespace hone::optimize
