#include "optimize/optimize.h"

#include <fmt/core.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/rng.h"
#include "graph/decision_family.h"
#include "tests/optimize/known_gains.h"
#include "tests/tune/fake_measurer.h"
#include "tests/tune/operation_model.h"
#include "tests/tune/table_ranker.h"

namespace hone::optimize {

namespace {

using tune::TableRanker;
const OptimizeOptions kNoGuard{.guard_s = 0};  // all is as fast

Lowered two_kernels() {
  Lowered l;
  l.instructions = 7;
  l.kernels = {tune::a_kernel("sure", {"default", "loop", "tile=8"}), tune::a_kernel("doubtful", {"default", "tile=8"}),
               tune::a_kernel("fixed", {"default"})};
  return l;
}

TableRanker ranker_of_two() {
  return TableRanker(
      {{"sure default", 3}, {"sure loop", 2.5}, {"sure tile=8", 1}, {"doubtful default", 3}, {"doubtful tile=8", 2.5}});
}

tune::FakeMeasurer measurer_of_two() {
  tune::FakeMeasurer measurer;
  measurer.lowering = [](auto&, bool) { return two_kernels(); };
  return measurer;
}

}  // namespace

TEST_CASE("only gains beyond the error are taken", "[tune]") {
  tune::FakeMeasurer measurer = measurer_of_two();
  TableRanker ranker = ranker_of_two();
  const OptimizeReport report = optimize_program(measurer, ranker, gains_from_one(), kNoGuard);
  CHECK(report.decisions == Decisions{{DecisionKind::Codegen, "sure", "tile=8"}});
  CHECK(report.verified);
  CHECK(report.instructions == 7);
  REQUIRE(report.kernels.size() == 3);
  CHECK(report.kernels[0].order == std::vector<std::string>{"tile=8", "loop", "default"});
  CHECK(report.kernels[0].gain == Approx(1.2));
  CHECK(report.kernels[0].transition == "loop to tiled");
  CHECK(report.kernels[1].order.front() == "tile=8");
  CHECK(report.kernels[1].chosen == "default");
  CHECK_FALSE(report.kernels[1].applied);
  CHECK(measurer.kernel_calls.empty());
  CHECK(measurer.program_calls.size() == 1);
}

namespace {

// A reduction and a sort, both of which may have another form.
Lowered with_forms(const Decisions& decisions) {
  Lowered l = two_kernels();
  l.dimensions = {{DecisionKind::Library, "reduce:add:f32[8,4]->f32[8]:1", {"compiled", "ynn"}, 0, 0},
                  {DecisionKind::Rewrite, "sort:f32[8]", {"default", "highway"}, 0, 0}};
  l.instructions = static_cast<int64_t>(decisions.size());
  return l;
}

OptimizeOptions options_with_forms() {
  OptimizeOptions options = kNoGuard;
  options.predict = [](const Lowered& l) { return PredictedRun{l.instructions == 0 ? 100.0 : 50.0}; };
  options.form_gains.by_transition["reduction ynn"] = {
      .from = 0.5, .gain = 0.4, .low = 0.1, .kernels = 20, .programs = 9, .seen = 30};
  return options;
}

}  // namespace

TEST_CASE("forms by predicted run times are applied before kernels are ranked, and checked with the program",
          "[tune]") {
  tune::FakeMeasurer measurer;
  measurer.lowering = [](const Decisions& d, bool) { return with_forms(d); };
  TableRanker ranker = ranker_of_two();
  const Decision ynn{DecisionKind::Library, "reduce:add:f32[8,4]->f32[8]:1", "ynn"};
  const OptimizeReport report = optimize_program(measurer, ranker, gains_from_one(), options_with_forms());
  REQUIRE(report.forms.size() == 1);
  CHECK(report.forms[0].applied);
  CHECK(report.forms[0].key == ynn.key);
  CHECK(report.forms[0].kind == "reduction ynn");
  CHECK(report.forms[0].gain == Approx(std::exp(0.4)));
  CHECK(report.forms[0].default_value == "compiled");
  CHECK(std::count(report.decisions.begin(), report.decisions.end(), ynn) == 1);
  CHECK(report.verified);
  // Without a model of run times, and where the predicted margin is too small, nothing changes its form.
  TableRanker again = ranker_of_two(), third = ranker_of_two();
  OptimizeOptions without = options_with_forms();
  without.predict = nullptr;
  CHECK(optimize_program(measurer, again, gains_from_one(), without).forms.empty());
  OptimizeOptions less = options_with_forms();
  less.predict = [](const Lowered& l) { return PredictedRun{l.instructions == 0 ? 100.0 : 90.0}; };
  CHECK(optimize_program(measurer, third, gains_from_one(), less).forms.empty());
}

TEST_CASE("forms under which the outputs differ are dropped", "[tune]") {
  tune::FakeMeasurer measurer;
  measurer.lowering = [](const Decisions& d, bool) { return with_forms(d); };
  measurer.outcome = [](const Decisions& candidate) {
    const auto is_ynn = [](const Decision& d) { return d.value == "ynn"; };
    return std::any_of(candidate.begin(), candidate.end(), is_ynn) ? tune::Outcome::Mismatch : tune::Outcome::Ok;
  };
  TableRanker ranker = ranker_of_two();
  const OptimizeReport report = optimize_program(measurer, ranker, gains_from_one(), options_with_forms());
  REQUIRE(report.forms.size() == 1);
  CHECK_FALSE(report.forms[0].applied);
  CHECK(report.forms[0].chosen == "compiled");
  CHECK(report.verified);
  CHECK(report.decisions == Decisions{{DecisionKind::Codegen, "sure", "tile=8"}});  // which had no part in it
}

TEST_CASE("a program is lowered once under the same decisions", "[tune]") {
  tune::FakeMeasurer measurer;
  std::map<Decisions, int> lowered;
  measurer.lowering = [&](const Decisions& d, bool) {
    ++lowered[d];
    return two_kernels();
  };
  // Nothing is kept: default XLA is also what is written.
  TableRanker none({}), some = ranker_of_two();
  CHECK(optimize_program(measurer, none, gains_from_one(), kNoGuard).decisions.empty());
  CHECK(lowered == std::map<Decisions, int>{{{}, 1}});
  lowered.clear();
  const Decisions chosen = optimize_program(measurer, some, gains_from_one(), kNoGuard).decisions;
  CHECK(lowered == std::map<Decisions, int>{{{}, 1}, {chosen, 1}});
}

TEST_CASE("an accepted transition is taken though the model ranks another option higher", "[tune]") {
  tune::FakeMeasurer measurer = measurer_of_two();
  TableRanker ranker(
      {{"sure default", 3}, {"sure loop", 0}, {"sure tile=8", 1}, {"doubtful default", 3}, {"doubtful tile=8", 4}});
  const OptimizeReport report = optimize_program(measurer, ranker, gains_from_one(), kNoGuard);
  CHECK(report.decisions == Decisions{{DecisionKind::Codegen, "sure", "tile=8"}});
  CHECK(report.kernels[0].order.front() == "loop");
}

namespace {

Dimension a_convolution(const std::string& name, double multiply_adds) {
  return {DecisionKind::Rewrite, "convolution:" + name + ":groups 4", {"default", kShifted}, 0, multiply_adds};
}

// Two grouped convolutions; as multiply-adds they add another kernel.
Lowered with_convolutions(const Decisions& decisions) {
  Lowered l = two_kernels();
  l.dimensions = {a_convolution("large", 1e6),
                  a_convolution("small", 10),
                  {DecisionKind::Library, "program", {"default", "eigen"}, 0, 0}};
  if (!decisions.empty()) l.kernels.push_back(tune::a_kernel("taps", {"default", "tile=8"}));
  return l;
}

TableRanker ranker_of_three() {
  return TableRanker({{"sure default", 3},
                      {"sure loop", 2.5},
                      {"sure tile=8", 1},
                      {"doubtful default", 3},
                      {"doubtful tile=8", 2.5},
                      {"taps default", 3},
                      {"taps tile=8", 1}});
}

}  // namespace

TEST_CASE("grouped convolutions that are large enough become shifted slices, then kernels are ranked", "[tune]") {
  tune::FakeMeasurer measurer;
  measurer.lowering = [](const Decisions& d, bool) { return with_convolutions(d); };
  TableRanker ranker = ranker_of_three();
  const OptimizeReport report = optimize_program(measurer, ranker, gains_of_convolutions(), kNoGuard);
  const Decision large{DecisionKind::Rewrite, "convolution:large:groups 4", kShifted};
  CHECK(report.decisions ==
        Decisions{{DecisionKind::Codegen, "sure", "tile=8"}, {DecisionKind::Codegen, "taps", "tile=8"}, large});
  REQUIRE(report.rewrites.size() == 2);
  CHECK(report.rewrites[0].applied);
  CHECK(report.rewrites[0].gain == Approx(3));
  CHECK_FALSE(report.rewrites[1].applied);
  CHECK(report.rewrites[1].chosen == "default");

  // Without known gains they are not rewritten.
  TableRanker again = ranker_of_three();
  CHECK(optimize_program(measurer, again, gains_from_one(), kNoGuard).decisions ==
        Decisions{{DecisionKind::Codegen, "sure", "tile=8"}});
}

TEST_CASE("convolutions that fail the check are dropped after the kernels", "[tune]") {
  tune::FakeMeasurer measurer;
  measurer.lowering = [](const Decisions& d, bool) { return with_convolutions(d); };
  measurer.outcome = [](const Decisions& d) { return d.empty() ? tune::Outcome::Ok : tune::Outcome::Mismatch; };
  TableRanker ranker = ranker_of_three();
  const OptimizeReport report = optimize_program(measurer, ranker, gains_of_convolutions(), kNoGuard);
  CHECK(report.decisions.empty());
  CHECK(report.verified);
  CHECK_FALSE(report.rewrites[0].applied);
  CHECK_FALSE(report.rewrites[0].note.empty());
  REQUIRE(measurer.program_calls.size() >= 3);
  CHECK(measurer.program_calls[measurer.program_calls.size() - 2] == "rewrite convolution:large:groups 4=shifted");
}

TEST_CASE("a rewrite is worth what it gains where all others are applied", "[tune]") {
  tune::FakeMeasurer measurer;
  measurer.lowering = [](const Decisions& d, bool) { return with_convolutions(d); };
  measurer.speed = [](const Decisions& d) {
    double speed = 1;
    for (const Decision& one : d) speed *= one.key == "convolution:large:groups 4" ? 4 : 0.5;
    return speed;
  };
  const auto by_transition = tune::measure_rewrites(measurer, "p");
  REQUIRE(by_transition.size() == 1);
  const std::vector<tune::RankedGain>& gains = by_transition.at("grouped convolution");
  REQUIRE(gains.size() == 2);
  CHECK(gains[0].program == "p");
  CHECK(gains[0].margin == Approx(std::log(1e6)));
  CHECK(gains[0].gain == Approx(std::log(4)));
  CHECK(gains[1].gain == Approx(std::log(0.5)));
}

TEST_CASE("transitions tell a convolution from its weights' gradient and from a pooling", "[tune]") {
  const auto way = [](const char* key) {
    return tune::rewrite_transition({DecisionKind::Rewrite, key, {"default", "shifted"}});
  };
  CHECK(way("convolution:f32[1,8,8,4]*f32[3,3,1,4]->f32[1,8,8,4]:b01f_01io->b01f:size=3x3:groups 4") ==
        "grouped convolution");
  CHECK(way("convolution:f32[2,8,8,4]*f32[2,8,8,4]->f32[3,3,1,4]:f01b_i01o->01bf:size=8x8:batch groups 4") ==
        "gradient of weights");
  CHECK(way("reduce-window:maximum:f32[1,8,8,4]->f32[1,4,4,4]:size=1x2x2x1") == "pooling");
}

TEST_CASE("without a check nothing runs at all", "[tune]") {
  tune::FakeMeasurer measurer = measurer_of_two();
  TableRanker ranker = ranker_of_two();
  OptimizeOptions options = kNoGuard;
  options.verify = false;
  const OptimizeReport report = optimize_program(measurer, ranker, gains_from_one(), options);
  CHECK(report.decisions.size() == 1);
  CHECK_FALSE(report.verified);
  CHECK(measurer.program_calls.empty());
}

TEST_CASE("an option that gives wrong outputs is dropped, the others stay", "[tune]") {
  tune::FakeMeasurer measurer = measurer_of_two();
  TableRanker ranker(
      {{"sure default", 3}, {"sure loop", 2.5}, {"sure tile=8", 1}, {"doubtful default", 3}, {"doubtful tile=8", 0}});
  measurer.kernel = [](const Kernel& k, auto&) {
    return k.fingerprint == "sure" ? tune::failed(tune::Outcome::Mismatch) : tune::measured(1.1);
  };
  measurer.outcome = [](const Decisions& d) {
    for (const Decision& one : d)
      if (one.key == "sure") return tune::Outcome::Mismatch;
    return tune::Outcome::Ok;
  };
  const OptimizeReport report = optimize_program(measurer, ranker, gains_from_one(), kNoGuard);
  CHECK(report.decisions == Decisions{{DecisionKind::Codegen, "doubtful", "tile=8"}});
  CHECK(report.verified);
  CHECK_FALSE(report.note.empty());
  CHECK_FALSE(report.kernels[0].note.empty());
}

TEST_CASE("a choice that differs on inputs of another kind ends in default XLA", "[tune]") {
  tune::FakeMeasurer measurer = measurer_of_two();
  TableRanker ranker = ranker_of_two();
  measurer.on_inputs = [](auto&, InputKind kind) {
    return kind == InputKind::Special ? tune::Outcome::Mismatch : tune::Outcome::Ok;
  };
  const OptimizeReport report = optimize_program(measurer, ranker, gains_from_one(), kNoGuard);
  CHECK(report.decisions.empty());
  CHECK(report.verified);
  CHECK_FALSE(report.note.empty());
}

TEST_CASE("a failure that no single kernel causes ends in default XLA", "[tune]") {
  tune::FakeMeasurer measurer = measurer_of_two();
  TableRanker ranker = ranker_of_two();
  const tune::Outcome wrong = GENERATE(tune::Outcome::Mismatch, tune::Outcome::Crashed, tune::Outcome::Unverified);
  measurer.outcome = [&](const Decisions& d) { return d.empty() ? tune::Outcome::Ok : wrong; };
  const OptimizeReport report = optimize_program(measurer, ranker, gains_from_one(), kNoGuard);
  CHECK(report.decisions.empty());
  CHECK(report.verified);
  for (const OptimizedKernel& k : report.kernels) CHECK_FALSE(k.applied);
}

TEST_CASE("a program that default XLA cannot run is an error, one with uninformative outputs is not verified",
          "[tune]") {
  tune::FakeMeasurer measurer = measurer_of_two();
  TableRanker ranker = ranker_of_two();
  measurer.outcome = [](auto&) { return tune::Outcome::RunFailed; };
  CHECK_THROWS_AS(optimize_program(measurer, ranker, gains_from_one(), kNoGuard), RunError);
  measurer.outcome = [](auto&) { return tune::Outcome::Unverified; };
  const OptimizeReport report = optimize_program(measurer, ranker, gains_from_one(), kNoGuard);
  CHECK(report.decisions.empty());
  CHECK_FALSE(report.verified);
}

TEST_CASE("kernels no model can read keep their default, and an interrupt ends the work", "[tune]") {
  tune::FakeMeasurer measurer;
  measurer.lowering = [](auto&, bool) {
    Lowered l;
    l.kernels = {tune::a_kernel("k", {"default", "loop"})};
    l.kernels[0].kind = "unreadable";
    return l;
  };
  TableRanker ranker({});
  const OptimizeReport report = optimize_program(measurer, ranker, gains_from_one(), kNoGuard);
  CHECK(report.decisions.empty());
  CHECK(report.kernels[0].note.find("cannot be encoded") != std::string::npos);
  measurer.left_s = 0;
  CHECK_THROWS_AS(optimize_program(measurer, ranker, gains_from_one(), kNoGuard), tune::Stopped);
}

TEST_CASE("many options are sampled as a collection samples them, the default first", "[tune]") {
  std::vector<std::string> options = {"default", "loop"};
  for (int i = 0; i < 80; ++i) options.push_back("tile=" + std::to_string(i + 1));
  const Kernel kernel = tune::a_kernel("k", options);
  const std::vector<std::string> ranked = options_to_rank(kernel, 24);
  CHECK(ranked.size() == 24);
  CHECK(ranked[0] == "default");
  CHECK(ranked == options_to_rank(kernel, 24));
  CHECK(options_to_rank(kernel, 0).size() == options.size());
  OptimizeOptions wrong;
  wrong.max_options = 1;
  CHECK_THROWS_AS(wrong.validate(), Error);
}

}  // namespace hone::optimize
