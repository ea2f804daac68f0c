// Forms of convolutions and dots that are chosen without measuring.
#include "optimize/operations.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "base/files.h"
#include "graph/decision_family.h"
#include "optimize/optimize.h"
#include "tests/optimize/known_gains.h"
#include "tests/tune/fake_measurer.h"
#include "tests/tune/operation_model.h"
#include "tests/tune/table_ranker.h"

namespace hone::optimize {
namespace {

OptimizeReport optimized_operation(tune::FakeMeasurer& measurer, const Dimension& operation,
                                   const tune::FormGains& form_gains, bool calibrated) {
  const TempDir folder;
  const cost::OperationRanker operations(tune::write_operation_model(folder, form_gains, calibrated), 1, "");
  measurer.lowering = [operation](auto&, bool) {
    Lowered l;
    l.dimensions = {operation};
    return l;
  };
  OptimizeOptions options{.guard_s = 0};  // all is as fast
  options.operations = &operations;
  tune::TableRanker ranker({});
  return optimize_program(measurer, ranker, gains_of_convolutions(), options);
}

OptimizeReport optimized_convolution(tune::FakeMeasurer& measurer, const tune::FormGains& form_gains, bool calibrated) {
  return optimized_operation(
      measurer,
      {DecisionKind::Rewrite, tune::kSmallConvolution, {"default", "winograd=2", "winograd=4"}, 0, 1e6, 1, {3}},
      form_gains, calibrated);
}

const Dimension kGrouped = {
    DecisionKind::Rewrite, tune::kGroupedConvolution, {"default", kShifted, kOneDnn}, 0, 1e9, 1, {3}};

}  // namespace

TEST_CASE("a form is chosen without measuring where its lower bound gains", "[tune]") {
  tune::FakeMeasurer measurer;
  const OptimizeReport sure = optimized_convolution(measurer, {.of_four = 0.3, .of_other_tiles = 0.1}, true);
  const Decision form{DecisionKind::Rewrite, tune::kSmallConvolution, "winograd=4"};
  REQUIRE(sure.operations.size() == 1);
  CHECK(sure.operations[0].applied);
  CHECK(sure.operations[0].gain == Approx(std::exp(0.3)));
  CHECK(sure.operations[0].gain - sure.operations[0].error == Approx(std::exp(0.19)));
  CHECK(std::find(sure.decisions.begin(), sure.decisions.end(), form) != sure.decisions.end());

  CHECK(optimized_convolution(measurer, {.of_four = 0.1}, true).decisions.empty());   // not by 3 % for sure
  CHECK(optimized_convolution(measurer, {.of_four = 0.3}, false).decisions.empty());  // nothing known of this machine
}

TEST_CASE("inputs of which weights become constants are drawn as a part of the check", "[tune]") {
  tune::FakeMeasurer constant, as_is;
  const OptimizeReport report = optimized_convolution(constant, {.of_four = 0.3, .more_of_constants = 0.2}, true);
  CHECK(report.decisions.size() == 2);  // the form and the weights
  REQUIRE(!constant.inputs_seen.empty());
  CHECK(constant.inputs_seen[0] == InputKind::Ordinary);
  optimized_convolution(as_is, {.of_four = 0.3}, true);
  CHECK(std::count(as_is.inputs_seen.begin(), as_is.inputs_seen.end(), InputKind::Ordinary) == 0);
}

TEST_CASE("a model of a grouped convolution's forms takes the place of the rule for its arithmetic", "[tune]") {
  tune::FakeMeasurer measurer;
  const auto by_rule = [](const OptimizeReport& r) { return r.rewrites.size() == 1 && r.rewrites[0].applied; };
  const OptimizeReport rule = optimized_operation(measurer, kGrouped, {.of_others = 0.3}, /*calibrated=*/false);
  CHECK(rule.operations.empty());
  REQUIRE(by_rule(rule));
  CHECK(rule.decisions == Decisions{{DecisionKind::Rewrite, tune::kGroupedConvolution, kShifted}});

  const OptimizeReport sure = optimized_operation(measurer, kGrouped, {.of_others = 0.3}, /*calibrated=*/true);
  CHECK(sure.rewrites.empty());
  REQUIRE(sure.decisions.size() == 1);
  CHECK(sure.decisions[0].key == tune::kGroupedConvolution);

  const OptimizeReport unsure = optimized_operation(measurer, kGrouped, {.of_others = -0.3}, /*calibrated=*/true);
  CHECK(unsure.rewrites.empty());
  CHECK(unsure.decisions.empty());
}

TEST_CASE("a form that fails by itself is dropped", "[tune]") {
  tune::FakeMeasurer measurer;
  measurer.kernel = [](auto&, auto&) { return tune::failed(tune::Outcome::Mismatch); };
  const OptimizeReport report = optimized_convolution(measurer, {.of_four = 0.3}, true);
  CHECK(report.decisions.empty());
  CHECK_FALSE(report.operations[0].applied);
  CHECK(report.verified);
}

}  // namespace hone::optimize
