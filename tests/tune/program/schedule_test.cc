// What comes first follows from what a program and its kernels cost.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/tune/fake_measurer.h"
#include "tune/program/program_tuner.h"

namespace hone::tune {

namespace {

bool has(const Decisions& decisions, const std::string& key, const std::string& value) {
  return std::any_of(decisions.begin(), decisions.end(),
                     [&](const Decision& d) { return d.key == key && d.value == value; });
}

Lowered with_reductions(std::vector<Kernel> kernels) {
  Lowered l;
  l.fingerprint = "f";
  l.kernels = std::move(kernels);
  for (int i = 0; i < 8; ++i)
    l.dimensions.push_back(
        {DecisionKind::Library, "reduce:add:f32[8," + std::to_string(i) + "]->f32[8]:1", {"compiled", "ynn"}, 1, 0});
  return l;
}

std::vector<Kernel> a_decoder() {
  std::vector<Kernel> kernels = {a_kernel("dot", {"llvm", "eigen"}, 0, 0.45)};
  kernels[0].kind = "dot";
  for (int i = 0; i < 40; ++i)
    kernels.push_back(a_kernel("fusion." + std::to_string(i), {"loop", "tile=2", "tile=4", "tile=8"}, 0, 0.01));
  return kernels;
}

// A run of 70 ms, 3 s to compile: a duel of the program costs as much as dozens of its kernels.
FakeMeasurer slow_program() {
  FakeMeasurer measurer;
  measurer.left_s = 60;
  measurer.each_s = 0.08;
  measurer.program_s = 5;
  measurer.run_ns = 70e6;
  measurer.compile_ms = 3000;
  measurer.lowering = [](auto&, bool) { return with_reductions(a_decoder()); };
  measurer.kernel = [](const Kernel& k, auto&) { return measured(k.fingerprint == "dot" ? 3.0 : 1.0); };
  measurer.speed = [](const Decisions& d) { return has(d, "dot", "eigen") ? 1 / 0.7 : 1.0; };
  return measurer;
}

TuneOptions in_a_minute() {
  TuneOptions options;
  options.budget_s = 60;
  return options;
}

}  // namespace

TEST_CASE("convolutions are measured with constant weights as well, and adopted with them where that is faster",
          "[tune]") {
  const std::string key = "convolution:f32[1,8,8,8]*f32[3,3,8,8]->f32[1,8,8,8]:b01f_01io->b01f:size=3x3 pad=1_1x1_1";
  for (const double with_constants : {2.0, 1.2}) {
    FakeMeasurer measurer;
    measurer.left_s = 60;
    measurer.each_s = 0.1;
    measurer.lowering = [&](auto&, bool) {
      Lowered l;
      l.fingerprint = "f";
      l.kernels = {a_kernel("library", {"default"}, 0, 1)};
      l.kernels[0].kind = "convolution";
      l.dimensions = {{DecisionKind::Weights, "3", {"as-is", "constant"}, 0, 0},
                      {DecisionKind::Rewrite, key, {"default", "winograd=4"}, 0, 1e9, 1, {3}}};
      return l;
    };
    measurer.kernel = [&](const Kernel& k, auto&) {
      Measurement m = measured(k.under.empty() ? 1.5 : with_constants);
      m.baseline_ns = 0.9e6;
      return m;
    };
    measurer.speed = [&](const Decisions& d) {
      const bool rewritten = has(d, key, "winograd=4"), constant = has(d, "3", "constant");
      return rewritten && constant ? with_constants : rewritten ? 1.5 : constant ? 0.99 : 1.0;
    };
    const ProgramResult result = tune_program(measurer, in_a_minute());
    CHECK(has(result.decisions, key, "winograd=4"));
    CHECK(has(result.decisions, "3", "constant") == (with_constants > 1.5));
  }
}

TEST_CASE("a slow program begins with the kernel that takes most of its time", "[tune]") {
  FakeMeasurer measurer = slow_program();
  const ProgramResult result = tune_program(measurer, in_a_minute());
  REQUIRE_FALSE(result.schedule.empty());
  CHECK(result.schedule[0].step == "kernels");
  CHECK(result.schedule[0].what == "kernel dot");
  CHECK(has(result.decisions, "dot", "eigen"));
  CHECK(result.measurement.ratio == Approx(1 / 0.7));
  CHECK(measurer.kernel_calls.size() >= 100);
  CHECK(measurer.left_s > -10);  // the confirmation is the last that is begun
}

TEST_CASE("the time of the check by XLA's interpreter is kept back from the search", "[tune]") {
  const auto kernels_measured = [](double interpreter_s) {
    FakeMeasurer measurer = slow_program();
    measurer.left_s = 25;
    measurer.interpreter_s = interpreter_s;
    tune_program(measurer, in_a_minute());
    return measurer.kernel_calls.size();
  };
  CHECK(kernels_measured(6) < kernels_measured(0) - 50);  // of 0.08 s each
}

TEST_CASE("a duel of a program of seconds has as many rounds as fit into the time", "[tune]") {
  const std::string depthwise = "convolution:f32[1,8,8,4]*f32[3,3,1,4]->f32[1,8,8,4]:b01f_01io->b01f:size=3x3:groups 4";
  const auto tuned_in = [&](double seconds) {
    FakeMeasurer measurer;
    measurer.left_s = seconds;
    measurer.run_ns = 9e9;
    measurer.lowering = [&](auto&, bool) {
      Lowered l;
      l.fingerprint = "f";
      l.kernels = {a_kernel("convolution", {"default"}, 0, 1)};
      l.dimensions = {{DecisionKind::Rewrite, depthwise, {"default", "shifted"}, 0, 1e9}};
      return l;
    };
    measurer.speed = [&](const Decisions& d) { return has(d, depthwise, "shifted") ? 14.0 : 1.0; };
    const ProgramResult result = tune_program(measurer, in_a_minute());
    return std::pair(has(result.decisions, depthwise, "shifted"), measurer.rounds);
  };
  const auto plenty = tuned_in(200), little = tuned_in(55), least = tuned_in(45), none = tuned_in(20);
  CHECK(plenty.first);
  CHECK(std::find(plenty.second.begin(), plenty.second.end(), 3) != plenty.second.end());
  CHECK(little.first);
  CHECK(std::find(little.second.begin(), little.second.end(), 1) != little.second.end());
  CHECK(least.first);
  CHECK_FALSE(none.first);  // not even one round
}

TEST_CASE("a quick program begins with duels of the whole", "[tune]") {
  FakeMeasurer measurer = slow_program();
  measurer.program_s = 0.2;
  measurer.run_ns = 1e6;
  measurer.compile_ms = 100;
  measurer.lowering = [](auto&, bool) {
    std::vector<Kernel> kernels;
    for (int i = 0; i < 10; ++i) kernels.push_back(a_kernel("k" + std::to_string(i), {"loop", "tile=2"}, 0, 0.1));
    return with_reductions(std::move(kernels));
  };
  const ProgramResult result = tune_program(measurer, in_a_minute());
  REQUIRE_FALSE(result.schedule.empty());
  CHECK(result.schedule[0].step == "reductions");
}

TEST_CASE("kernels that won are confirmed where no duel of the program could be afforded", "[tune]") {
  FakeMeasurer measurer = slow_program();
  measurer.left_s = 20;  // the default takes 5 s, the kernels a part of the rest
  measurer.program_s = 14;
  measurer.compile_ms = 12000;
  TuneOptions options = in_a_minute();
  options.budget_s = 20;
  const ProgramResult result = tune_program(measurer, options);
  CHECK(has(result.decisions, "dot", "eigen"));
  CHECK(result.measurement.ratio == Approx(1 / 0.7));
  CHECK(result.untried.experiments > 0);
  CHECK(result.untried.gain > 1);
}

TEST_CASE("the schedule says what it expected and what came of it", "[tune]") {
  FakeMeasurer measurer = slow_program();
  const ProgramResult result = tune_program(measurer, in_a_minute());
  double took_s = 0;
  for (const ScheduledExperiment& row : result.schedule) {
    CHECK(row.expected > 0);
    CHECK(row.predicted_s > 0);
    CHECK(row.took_s >= 0);
    took_s += row.took_s;
  }
  CHECK(took_s < 60);
  CHECK(result.schedule[0].gain == Approx(std::log(3.0)));
}

}  // namespace hone::tune
