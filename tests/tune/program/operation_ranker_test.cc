// A search whose operations a model ranks.
#include "cost/operation_ranker.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "graph/decision_family.h"
#include "graph/operation_key.h"
#include "tests/tune/fake_measurer.h"
#include "tests/tune/operation_model.h"
#include "tune/program/program_tuner.h"

namespace hone::tune {
namespace {

constexpr char kOtherConvolution[] =
    "convolution:f32[1,60,60,16]*f32[3,3,16,64]->f32[1,60,60,64]:b01f_01io->b01f:size=3x3 pad=1_1x1_1";

FakeMeasurer one_convolution(double gain_of_four) {
  FakeMeasurer measurer;
  measurer.lowering = [](auto&, bool) {
    Lowered l;
    l.kernels = {a_kernel("convolution", {"default"})};
    l.kernels[0].kind = "convolution";
    l.dimensions = {{DecisionKind::Rewrite,
                     kSmallConvolution,
                     {"default", kOneDnn, "winograd=6", "winograd=2", "winograd=4"},
                     0,
                     1e6}};
    return l;
  };
  measurer.kernel = [gain_of_four](auto&, const std::string& form) {
    return measured(form == "winograd=4" ? gain_of_four : 0.9);
  };
  measurer.speed = [gain_of_four](const Decisions& decisions) {
    return decisions.empty() || decisions[0].value != "winograd=4" ? 1.0 : gain_of_four;
  };
  measurer.left_s = 60;
  measurer.each_s = 0.1;
  return measurer;
}

FakeMeasurer two_convolutions(double gain_of_four) {
  FakeMeasurer measurer = one_convolution(gain_of_four);
  measurer.lowering = [alone = measurer.lowering](const Decisions& decisions, bool want_fusion) {
    Lowered l = alone(decisions, want_fusion);
    l.dimensions.push_back(l.dimensions[0]);
    l.dimensions[1].key = kOtherConvolution;
    return l;
  };
  return measurer;
}

int count_of(const Decisions& decisions, const std::string& value) {
  return static_cast<int>(
      std::count_if(decisions.begin(), decisions.end(), [&](const Decision& d) { return d.value == value; }));
}

ProgramResult tuned(FakeMeasurer& measurer, cost::OperationRanker* ranker) {
  TuneOptions options;
  options.fusion = false;
  options.operation_ranker = ranker;
  return tune_program(measurer, options);
}

}  // namespace

TEST_CASE("the form that the model ranks first is measured first, and those without hope are not", "[tune]") {
  const TempDir folder;
  cost::OperationRanker ranker(
      write_operation_model(folder, {.of_four = 0.6, .of_other_tiles = 0.1, .of_others = -0.5, .spread = 0.05}), 1, "");
  FakeMeasurer measurer = one_convolution(1.8);
  const ProgramResult result = tuned(measurer, &ranker);
  REQUIRE_FALSE(measurer.kernel_calls.empty());
  for (const std::string& call : measurer.kernel_calls) CHECK(call.ends_with("winograd=4"));
  CHECK(result.decisions == Decisions{{DecisionKind::Rewrite, kSmallConvolution, "winograd=4"}});

  FakeMeasurer without = one_convolution(1.8);
  tuned(without, nullptr);
  CHECK(without.kernel_calls.size() > measurer.kernel_calls.size());
}

TEST_CASE("an operation that no form is expected to speed up is not measured", "[tune]") {
  const TempDir folder;
  cost::OperationRanker ranker(
      write_operation_model(folder, {.of_four = -0.6, .of_other_tiles = -0.6, .of_others = -0.6, .spread = 0.01}), 1,
      "");
  FakeMeasurer measurer = one_convolution(1.8);
  CHECK(tuned(measurer, &ranker).decisions.empty());
  CHECK(measurer.kernel_calls.empty());
}

TEST_CASE("where the model is wrong, the next form in its order is measured", "[tune]") {
  const TempDir folder;
  cost::OperationRanker ranker(
      write_operation_model(folder, {.of_four = 0.4, .of_other_tiles = 0.6, .of_others = -0.5, .spread = 0.2}), 1, "");
  FakeMeasurer measurer = one_convolution(1.5);
  CHECK(tuned(measurer, &ranker).decisions == Decisions{{DecisionKind::Rewrite, kSmallConvolution, "winograd=4"}});
  REQUIRE_FALSE(measurer.kernel_calls.empty());
  CHECK(measurer.kernel_calls.front().find("winograd=4") == std::string::npos);
}

TEST_CASE("a form that won alone is confirmed though no duel of the program fitted into the search", "[tune]") {
  const TempDir folder;
  cost::OperationRanker ranker(
      write_operation_model(folder, {.of_four = 0.6, .of_other_tiles = 0.1, .of_others = -0.5, .spread = 0.05}), 1, "");
  FakeMeasurer measurer = one_convolution(1.8);
  const auto alone = measurer.lowering;
  measurer.lowering = [alone](const Decisions& decisions, bool want_fusion) {
    Lowered l = alone(decisions, want_fusion);
    l.kernels[0].dimension.weight = 1;
    l.kernels.push_back(a_kernel("fusion", {"default"}, 0, 19));
    return l;
  };
  measurer.run_ns = 2e10;  // a duel of one round takes 80 s
  measurer.kernel = [of_one = measurer.kernel](const Kernel& op, const std::string& form) {
    Measurement m = of_one(op, form);
    m.baseline_ns = 1e9;
    return m;
  };
  const ProgramResult result = tuned(measurer, &ranker);
  REQUIRE_FALSE(measurer.kernel_calls.empty());
  for (const Step& step : result.steps) CHECK(step.what == "confirmation");
  CHECK(result.decisions == Decisions{{DecisionKind::Rewrite, kSmallConvolution, "winograd=4"}});
}

TEST_CASE("oneDNN is tried for all operations at once, but for those that it computes wrongly", "[tune]") {
  for (const bool other_fails : {false, true}) {
    FakeMeasurer measurer = two_convolutions(1.8);
    measurer.kernel = [other_fails](const Kernel& op, const std::string&) {
      if (other_fails && op.dimension.key == kOtherConvolution) return failed(Outcome::Mismatch);
      return measured(0.95);  // by themselves no form gains
    };
    measurer.speed = [](const Decisions& decisions) { return 1 + 0.3 * count_of(decisions, kOneDnn); };
    const ProgramResult result = tuned(measurer, nullptr);
    CHECK(count_of(result.decisions, kOneDnn) == (other_fails ? 1 : 2));
    for (const Decision& d : result.decisions) CHECK((!other_fails || d.key != kOtherConvolution));
  }
}

TEST_CASE("the forms that the model expects to be faster are tried at once, those that fail by themselves left out",
          "[tune]") {
  const TempDir folder;
  cost::OperationRanker ranker(
      write_operation_model(folder, {.of_four = 0.6, .of_other_tiles = 0.1, .of_others = -0.5, .spread = 0.05}), 1, "");
  for (const bool other_fails : {false, true}) {
    FakeMeasurer measurer = two_convolutions(1.8);
    measurer.kernel = [other_fails](const Kernel& op, const std::string& form) {
      if (other_fails && op.dimension.key == kOtherConvolution) return failed(Outcome::Mismatch);
      return measured(form == "winograd=4" ? 1.8 : 0.9);
    };
    measurer.speed = [](const Decisions& decisions) { return 1 + 0.3 * count_of(decisions, "winograd=4"); };
    measurer.compile_ms = 100;  // of the program: measuring each operation carefully takes longer than one duel of all
    const ProgramResult result = tuned(measurer, &ranker);
    REQUIRE_FALSE(result.steps.empty());
    CHECK(result.steps[0].what ==
          (other_fails ? in_words({DecisionKind::Rewrite, kSmallConvolution, "winograd=4"}) : "2 predicted forms"));
    CHECK(result.decisions.size() == (other_fails ? 1 : 2));
  }
}

TEST_CASE("a form that the model expects of an operation which only the program shows is one of those tried at once",
          "[tune]") {
  const TempDir folder;
  for (const double gain : {0.5, -0.5}) {
    cost::OperationRanker ranker(
        write_operation_model(folder, {.of_four = 0.6, .of_other_tiles = 0.1, .of_others = gain, .spread = 0.05}), 1,
        "");
    FakeMeasurer measurer = one_convolution(1.8);
    const auto alone = measurer.lowering;
    measurer.lowering = [alone](const Decisions& decisions, bool want_fusion) {
      Lowered l = alone(decisions, want_fusion);
      l.dimensions.push_back({DecisionKind::Rewrite, kGroupedConvolution, {"default", kShifted}, 0, 1e6});
      return l;
    };
    tuned(measurer, &ranker);
    const bool run_alone =
        std::any_of(measurer.kernel_calls.begin(), measurer.kernel_calls.end(),
                    [](const auto& call) { return call.find(kGroupedConvolution) != std::string::npos; });
    CHECK(run_alone == (gain > 0));
  }
}

}  // namespace hone::tune
