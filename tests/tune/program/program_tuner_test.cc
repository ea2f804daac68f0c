#include "tune/program/program_tuner.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.h"
#include "tests/tune/fake_measurer.h"

namespace hone::tune {

namespace {

Dimension dimension(DecisionKind kind, const std::string& key, std::vector<std::string> options, double weight = 0) {
  return {kind, key, std::move(options), 0, weight};
}

bool has(const Decisions& decisions, const std::string& key, const std::string& value) {
  return std::any_of(decisions.begin(), decisions.end(),
                     [&](const Decision& d) { return d.key == key && d.value == value; });
}

TuneOptions with_budget(double seconds) {
  TuneOptions options;
  options.budget_s = seconds;
  return options;
}

}  // namespace

TEST_CASE("kernels, options and weights that gain add up; those that hurt stay out", "[tune]") {
  FakeMeasurer measurer;
  measurer.lowering = [](auto&, bool) {
    Lowered l;
    l.fingerprint = "f";
    l.kernels = {a_kernel("k", {"tile=1", "tile=8"}, 0, 0.5)};
    l.dimensions = {dimension(DecisionKind::Option, "multi_output_fusion", {"0", "1"}),
                    dimension(DecisionKind::Option, "bad", {"0", "1"}),
                    dimension(DecisionKind::Weights, "0", {"as_is", "transposed"}),
                    dimension(DecisionKind::Weights, "1", {"as_is", "transposed"})};
    return l;
  };
  measurer.kernel = [](auto&, auto&) { return measured(1.5); };
  measurer.speed = [](const Decisions& d) {
    double speed = 1;
    if (has(d, "k", "tile=8")) speed *= 1.2;
    if (has(d, "multi_output_fusion", "1")) speed *= 1.1;
    if (has(d, "bad", "1")) speed *= 0.7;
    if (has(d, "0", "transposed")) speed *= 1.3;
    if (has(d, "1", "transposed")) speed *= 0.6;
    return speed;
  };
  const ProgramResult result = tune_program(measurer, with_budget(60));
  CHECK(result.decisions == Decisions{{DecisionKind::Codegen, "k", "tile=8"},
                                      {DecisionKind::Weights, "0", "transposed"},
                                      {DecisionKind::Option, "multi_output_fusion", "1"}});
  CHECK(result.measurement.ratio == Approx(1.2 * 1.1 * 1.3));
  CHECK(result.measurement.ok());
  REQUIRE(result.kernels.size() == 1);
  CHECK(result.kernels[0].kept);
}

TEST_CASE("threads wait actively where a duel shows no loss", "[tune]") {
  FakeMeasurer measurer;
  measurer.lowering = [](auto&, bool) {
    Lowered l;
    l.fingerprint = "f";
    l.dimensions = {dimension(DecisionKind::Option, "wait_policy", {"passive", "active"}),
                    dimension(DecisionKind::Option, "huge_pages", {"off", "on"}),
                    dimension(DecisionKind::Weights, "0", {"as_is", "transposed"})};
    return l;
  };
  for (const auto& [active, kept] : std::vector<std::pair<double, bool>>{{1, true}, {0.97, false}}) {
    INFO(active);
    measurer.speed = [active = active](const Decisions& d) {  // huge pages are level, too
      return (has(d, "wait_policy", "active") ? active : 1) * (has(d, "0", "transposed") ? 1.3 : 1);
    };
    const ProgramResult result = tune_program(measurer, with_budget(60));
    CHECK(has(result.decisions, "0", "transposed"));
    CHECK(has(result.decisions, "wait_policy", "active") == kept);
    CHECK_FALSE(has(result.decisions, "huge_pages", "on"));
    CHECK(result.measurement.ratio == Approx(1.3));
  }
  measurer.speed = [](const Decisions&) { return 1.0; };  // alone it is no gain
  CHECK(tune_program(measurer, with_budget(60)).decisions.empty());
}

TEST_CASE("the kernels that libraries of reductions make are searched, too", "[tune]") {
  const std::string first = "reduce:add:f32[8,512]->f32[8]:1", second = "reduce:maximum:f32[8,512]->f32[8]:1";
  FakeMeasurer measurer;
  measurer.lowering = [&](const Decisions& d, bool) {
    Lowered l;
    const bool compiled = has(d, first, "compiled");
    l.fingerprint = compiled ? "fused" : "f";
    l.kernels = {a_kernel(compiled ? "sum in its producer" : "k", {"tile=1", "tile=8"}, 0, 0.5)};
    for (const std::string& key : {first, second})
      l.dimensions.push_back({DecisionKind::Library, key, {"compiled", "ynn"}, 1, 0});
    return l;
  };
  measurer.speed = [&](const Decisions& d) {
    return (has(d, first, "compiled") ? 1.3 : 1.0) * (has(d, second, "compiled") ? 0.6 : 1.0);
  };
  const ProgramResult result = tune_program(measurer, with_budget(60));
  CHECK(result.decisions == Decisions{{DecisionKind::Library, first, "compiled"}});
  CHECK(std::any_of(measurer.kernel_calls.begin(), measurer.kernel_calls.end(),
                    [](const std::string& call) { return call.starts_with("sum in its producer"); }));
}

TEST_CASE("a form that differs on other inputs is left out, not all that was found with it", "[tune]") {
  FakeMeasurer measurer;
  const std::string good = "reduce:add:f32[8,4]->f32[8]:1", bad = "reduce:add:f32[64]->f32[]:0";
  measurer.lowering = [&](const Decisions&, bool) {
    Lowered l;
    l.fingerprint = "plain";
    for (const std::string& key : {good, bad})
      l.dimensions.push_back({DecisionKind::Library, key, {"compiled", "ynn"}, 0, 0});
    return l;
  };
  measurer.speed = [&](const Decisions& decisions) { return std::pow(1.3, static_cast<double>(decisions.size())); };
  measurer.on_inputs = [&](const Decisions& decisions, InputKind kind) {
    const bool differs =
        std::any_of(decisions.begin(), decisions.end(), [&](const Decision& d) { return d.key == bad; });
    return differs && kind == InputKind::Zeros ? Outcome::Mismatch : Outcome::Ok;
  };
  const ProgramResult result = tune_program(measurer, {});
  CHECK(result.decisions == Decisions{{DecisionKind::Library, good, "ynn"}});
  CHECK(result.measurement.ratio == Approx(1.3));
}

TEST_CASE("convolutions and poolings are decided first, one kind after the other", "[tune]") {
  const std::string depthwise = "convolution:f32[1,8,8,4]*f32[3,3,1,4]->f32[1,8,8,4]:b01f_01io->b01f:size=3x3:groups 4";
  const std::string pooling = "reduce-window:maximum:f32[1,8,8,4]->f32[1,4,4,4]:size=1x2x2x1";
  FakeMeasurer measurer;
  measurer.lowering = [&](const Decisions& d, bool) {
    Lowered l;
    const bool shifted = has(d, depthwise, "shifted");
    l.fingerprint = shifted ? "slices" : "f";
    l.kernels = {a_kernel(shifted ? "slices" : "k", {"tile=1", "tile=8"}, 0, 0.5)};
    for (const std::string& key : {pooling, depthwise})
      l.dimensions.push_back({DecisionKind::Rewrite, key, {"default", "shifted"}, 0, 100});
    return l;
  };
  measurer.speed = [&](const Decisions& d) { return has(d, depthwise, "shifted") ? 8.0 : 1.0; };
  measurer.outcome = [&](const Decisions& d) { return has(d, pooling, "shifted") ? Outcome::Crashed : Outcome::Ok; };
  TuneOptions options = with_budget(60);
  options.outer.passes = [] {
    return std::vector<Alternative>{{"dce first", {{DecisionKind::Passes, "order", "dce"}}}};
  };
  const ProgramResult result = tune_program(measurer, options);
  CHECK(result.decisions == Decisions{{DecisionKind::Rewrite, depthwise, "shifted"}});
  REQUIRE(measurer.program_calls.size() > 1);
  CHECK(measurer.program_calls[1].find("convolution:") != std::string::npos);  // after default XLA itself
  CHECK(measurer.program_calls[1].find("reduce-window:") == std::string::npos);
  for (const std::string& call : measurer.kernel_calls) CHECK(call.rfind("slices", 0) == 0);
  // The order of passes lowers to the same program under the decisions so far, so it is not measured.
  for (const std::string& call : measurer.program_calls) CHECK(call.find("dce") == std::string::npos);
}

TEST_CASE("one kernel that spoils the program is found by halving the group", "[tune]") {
  FakeMeasurer measurer;
  measurer.lowering = [](auto&, bool) {
    Lowered l;
    for (const char* name : {"a", "b", "c", "d"}) l.kernels.push_back(a_kernel(name, {"loop", "tile=8"}, 0, 0.25));
    return l;
  };
  measurer.kernel = [](auto&, auto&) { return measured(1.5); };
  measurer.outcome = [](const Decisions& d) { return has(d, "c", "tile=8") ? Outcome::Mismatch : Outcome::Ok; };
  measurer.speed = [](const Decisions& d) { return 1 + 0.1 * static_cast<double>(d.size()); };
  const ProgramResult result = tune_program(measurer, with_budget(60));
  CHECK(result.decisions.size() == 3);
  CHECK_FALSE(has(result.decisions, "c", "tile=8"));
}

TEST_CASE("parts of a group are named after the whole group, however small they get", "[tune]") {
  FakeMeasurer measurer;
  measurer.lowering = [](auto&, bool) {
    Lowered l;
    for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"})
      l.kernels.push_back(a_kernel(name, {"loop", "tile=8"}, 0, 0.125));
    return l;
  };
  measurer.kernel = [](auto&, auto&) { return measured(1.5); };
  measurer.outcome = [](const Decisions& d) { return has(d, "c", "tile=8") ? Outcome::Mismatch : Outcome::Ok; };
  measurer.speed = [](const Decisions& d) { return 1 + 0.1 * static_cast<double>(d.size()); };
  measurer.compile_ms = 20000;  // so dear a duel comes after all kernels
  int groups = 0, parts = 0, singles = 0;
  for (const Step& step : tune_program(measurer, with_budget(60)).steps) {
    groups += step.what == "8 tuned kernels";
    parts += step.what == "part of 8 tuned kernels";
    singles += step.what.rfind("codegen ", 0) == 0;
  }
  CHECK(groups == 1);
  CHECK(parts == 4);  // both halves, and both halves of the one with the spoiler
  CHECK(singles == 2);
}

TEST_CASE("gains that the confirmation does not see end in default XLA", "[tune]") {
  FakeMeasurer measurer;
  measurer.lowering = [](auto&, bool) {
    Lowered l;
    l.dimensions = {dimension(DecisionKind::Option, "o", {"0", "1"})};
    return l;
  };
  measurer.speed = [&](const Decisions& d) { return has(d, "o", "1") ? (measurer.confirming ? 0.9 : 1.5) : 1.0; };
  const ProgramResult result = tune_program(measurer, with_budget(60));
  CHECK(result.decisions.empty());
  CHECK(result.measurement.ratio == 1);
  CHECK(result.measurement.candidate_ns == result.measurement.baseline_ns);
}

TEST_CASE("the confirmation falls back to an earlier best", "[tune]") {
  FakeMeasurer measurer;
  measurer.lowering = [](auto&, bool) {
    Lowered l;
    l.dimensions = {dimension(DecisionKind::Option, "multi_output_fusion", {"0", "1"}),
                    dimension(DecisionKind::Option, "shaky", {"0", "1"})};
    return l;
  };
  measurer.speed = [&](const Decisions& d) {
    double speed = has(d, "multi_output_fusion", "1") ? 1.2 : 1.0;
    if (has(d, "shaky", "1")) speed *= measurer.confirming ? 0.5 : 1.1;
    return speed;
  };
  const ProgramResult result = tune_program(measurer, with_budget(60));
  CHECK(result.decisions == Decisions{{DecisionKind::Option, "multi_output_fusion", "1"}});
  CHECK(result.measurement.ratio == Approx(1.2));
}

TEST_CASE("an interrupt at any measurement leaves a confirmed result", "[tune]") {
  for (int stop = 0; stop < 12; ++stop) {
    FakeMeasurer measurer;
    measurer.stop_after = stop;
    measurer.lowering = [](auto&, bool) {
      Lowered l;
      l.kernels = {a_kernel("k", {"loop", "tile=2", "tile=4"}, 0, 0.5)};
      l.dimensions = {dimension(DecisionKind::Option, "o", {"0", "1"})};
      return l;
    };
    measurer.kernel = [](auto&, auto&) { return measured(1.5); };
    measurer.speed = [](const Decisions& d) { return 1 + 0.1 * static_cast<double>(d.size()); };
    const ProgramResult result = tune_program(measurer, with_budget(60));
    CHECK(result.measurement.ok());
    CHECK(result.measurement.ratio >= 1);
    CHECK(measurer.confirming);
    CHECK(result.measurement.ratio == Approx(1 + 0.1 * static_cast<double>(result.decisions.size())));
  }
}

TEST_CASE("after an interrupt default XLA is measured for no longer than a few seconds", "[tune]") {
  FakeMeasurer measurer;
  measurer.stop_after = 0;
  measurer.outcome = [&](auto&) { return measurer.limits.back() <= 30 ? Outcome::TimedOut : Outcome::Ok; };
  CHECK_THROWS_AS(tune_program(measurer, with_budget(60)), Stopped);
  REQUIRE(measurer.limits.size() == 1);  // the first was interrupted before it was counted
}

TEST_CASE("the budget ends the search with time left for the confirmation", "[tune]") {
  FakeMeasurer measurer;
  measurer.left_s = 20;
  measurer.each_s = 0.5;
  measurer.lowering = [](auto&, bool) {
    Lowered l;
    for (int i = 0; i < 100; ++i)
      l.dimensions.push_back(dimension(DecisionKind::Option, std::to_string(i), {"0", "1"}));
    return l;
  };
  const ProgramResult result = tune_program(measurer, with_budget(20));
  CHECK(measurer.left_s >= 0);
  CHECK(measurer.program_calls.size() > 20);
  CHECK(result.decisions.empty());
}

TEST_CASE("a program default XLA cannot run is an error; one that cannot be verified is not tuned", "[tune]") {
  FakeMeasurer measurer;
  measurer.outcome = [](auto&) { return Outcome::RunFailed; };
  CHECK_THROWS_AS(tune_program(measurer, with_budget(60)), RunError);
  measurer.outcome = [](auto&) { return Outcome::Unverified; };
  const ProgramResult result = tune_program(measurer, with_budget(60));
  CHECK(result.decisions.empty());
  CHECK_FALSE(result.measurement.ok());
  CHECK_FALSE(result.note.empty());
  CHECK(measurer.kernel_calls.empty());
}

TEST_CASE("a strategy of the library finds the best pair", "[tune]") {
  for (const char* strategy : {"exhaustive", "greedy", "genetic"}) {
    FakeMeasurer measurer;
    measurer.lowering = [](auto&, bool) {
      Lowered l;
      l.dimensions = {dimension(DecisionKind::Option, "a", {"0", "1", "2"}),
                      dimension(DecisionKind::Option, "b", {"0", "1"})};
      return l;
    };
    measurer.speed = [](const Decisions& d) {
      return (has(d, "a", "2") ? 1.2 : has(d, "a", "1") ? 1.1 : 1.0) * (has(d, "b", "1") ? 1.15 : 1.0);
    };
    TuneOptions options = with_budget(60);
    options.strategy = strategy;
    const ProgramResult result = tune_program(measurer, options);
    CHECK(result.measurement.ratio == Approx(1.2 * 1.15));
  }
}

TEST_CASE("fusion edges are annealed when time remains", "[tune]") {
  FakeMeasurer measurer;
  measurer.left_s = 200;
  measurer.each_s = 1;
  measurer.lowering = [](auto&, bool want_fusion) {
    Lowered l;
    if (want_fusion)
      l.dimensions = {dimension(DecisionKind::Fusion, "a>b", {"keep", "fuse"}),
                      dimension(DecisionKind::Fusion, "b>c", {"fuse", "keep"})};
    return l;
  };
  measurer.speed = [](const Decisions& d) { return has(d, "b>c", "keep") ? 1.3 : has(d, "a>b", "fuse") ? 0.5 : 1.0; };
  const ProgramResult result = tune_program(measurer, with_budget(200));
  CHECK(has(result.decisions, "b>c", "keep"));
  CHECK(result.measurement.ratio == Approx(1.3));

  FakeMeasurer without = measurer;
  without.left_s = 200;
  TuneOptions options = with_budget(200);
  options.fusion = false;
  CHECK(tune_program(without, options).decisions.empty());
}

TEST_CASE("a kept option that changes the lowering brings new kernels", "[tune]") {
  FakeMeasurer measurer;
  measurer.lowering = [](const Decisions& d, bool) {
    Lowered l;
    const bool changed = has(d, "o", "1");
    l.fingerprint = changed ? "g" : "f";
    l.kernels = {a_kernel(changed ? "new" : "old", {"loop", "tile=8"}, 0, 0.5)};
    l.dimensions = {dimension(DecisionKind::Option, "o", {"0", "1"})};
    return l;
  };
  measurer.kernel = [](auto&, auto&) { return measured(1.5); };
  measurer.speed = [](const Decisions& d) {
    return has(d, "o", "1") ? (has(d, "new", "tile=8") ? 1.5 : 1.3) : (has(d, "old", "tile=8") ? 1.1 : 1.0);
  };
  const ProgramResult result = tune_program(measurer, with_budget(60));
  CHECK(result.measurement.ratio == Approx(1.5));
  CHECK(has(result.decisions, "new", "tile=8"));
  CHECK_FALSE(has(result.decisions, "old", "tile=8"));  // no such kernel any more
}

TEST_CASE("a tune takes the experiments of its options", "[tune]") {
  TuneOptions options;
  const auto takes = [&](const char* name) {
    const std::vector<std::string> names = tune_step_names(options);
    return std::count(names.begin(), names.end(), name) == 1;
  };
  for (const char* name : {"grouped convolutions", "reductions", "option vector_width 512", "other moves", "kernels",
                           "winning kernels", "fusion"})
    CHECK(takes(name));
  CHECK_FALSE(takes("orders of passes"));  // nobody proposes any
  CHECK_FALSE(takes("strategy"));
  options.strategy = "genetic";
  CHECK(takes("strategy"));
  CHECK_FALSE(takes("single options"));
  options.kernels_only = true;
  CHECK(tune_step_names(options) ==
        std::vector<std::string>{"kernels", "kernels in place", "winning kernels", "parts of winning kernels"});
  options.fusion_plan.only = true;
  CHECK(tune_step_names(options) == std::vector<std::string>{"fusion"});
}

TEST_CASE("tune options are checked", "[tune]") {
  CHECK_THROWS_AS(with_budget(0).validate(), Error);
  TuneOptions options;
  options.strategy = "magic";
  CHECK_THROWS_AS(options.validate(), Error);
}

}  // namespace hone::tune
