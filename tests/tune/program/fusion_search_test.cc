// The search over fusion by measurement alone, without a model.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "tests/tune/fake_measurer.h"
#include "tune/program/program_tuner.h"

namespace hone::tune {

TEST_CASE("fusion alone from a random start decides nothing else", "[tune]") {
  std::vector<Dimension> edges;
  for (int i = 0; i < 8; ++i)
    edges.push_back({DecisionKind::Fusion, "p" + std::to_string(i) + ">c", {"keep", "fuse"}, 0, 0});
  FakeMeasurer measurer;
  measurer.each_s = 0.5;
  measurer.left_s = 60;
  measurer.lowering = [&](auto&, bool want_fusion) {
    Lowered l;
    l.fingerprint = "f";
    l.kernels = {a_kernel("k", {"default", "loop"}, 0, 0.5)};
    l.dimensions = {{DecisionKind::Option, "o", {"0", "1"}, 0, 0}};
    if (want_fusion) l.dimensions.insert(l.dimensions.end(), edges.begin(), edges.end());
    return l;
  };
  TuneOptions options;
  options.budget_s = 60;
  options.seed = 3;
  options.fusion_plan.only = options.fusion_plan.random_start = true;
  tune_program(measurer, options);
  CHECK(measurer.kernel_calls.empty());
  REQUIRE(measurer.program_calls.size() > 2);
  CHECK(measurer.program_calls[0].empty());                              // default XLA
  CHECK(measurer.program_calls[1].find("fusion") != std::string::npos);  // the random start
  for (const std::string& call : measurer.program_calls) CHECK(call.find("option") == std::string::npos);
}

TEST_CASE("annealing by measurement begins again while there is time for two duels", "[tune]") {
  FakeMeasurer measurer;
  measurer.each_s = GENERATE(0.05, 0.5);
  measurer.compile_ms = 1000;  // by which a duel is expected to take more than a second
  measurer.left_s = 60;
  measurer.lowering = [](auto&, bool want_fusion) {
    Lowered l;
    for (int i = 0; want_fusion && i < 24; ++i)
      l.dimensions.push_back({DecisionKind::Fusion, "p" + std::to_string(i) + ">c", {"keep", "fuse"}, 0, 0});
    return l;
  };
  measurer.speed = [](const Decisions& d) { return 1 - 0.001 * static_cast<double>(d.size()); };  // nothing gains
  TuneOptions options;
  options.budget_s = 60;
  options.fusion_plan.only = true;
  tune_program(measurer, options);
  CHECK(measurer.left_s > 0);
  CHECK(measurer.left_s < 7.2 + 3);  // 7.2 s are for a confirmation, which there is none of
}

TEST_CASE("annealing by measurement walks once where little time is left", "[tune]") {
  FakeMeasurer measurer;
  measurer.each_s = 0.5;
  measurer.compile_ms = 1000;  // by which a duel is expected to take more than a second
  measurer.left_s = 60;
  measurer.lowering = [&](auto&, bool want_fusion) {
    Lowered l;
    if (want_fusion) {
      l.dimensions = {{DecisionKind::Fusion, "p0>c", {"keep", "fuse"}, 0, 0}};
      measurer.left_s = 9.4;  // less than two duels before the confirmation, which has 7.2 s
    }
    return l;
  };
  measurer.speed = [](const Decisions& d) { return d.empty() ? 1 : 1.2; };
  TuneOptions options;
  options.budget_s = 60;
  options.fusion_plan.only = true;
  CHECK(tune_program(measurer, options).measurement.ratio == Approx(1.2));
}

TEST_CASE("a fusion whose outputs differ on other inputs is refused when it is found, and the others stay", "[tune]") {
  std::vector<Dimension> edges;
  for (int i = 0; i < 4; ++i)
    edges.push_back({DecisionKind::Fusion, "p" + std::to_string(i) + ">c", {"keep", "fuse"}, 0, 0});
  const Decision wrong{DecisionKind::Fusion, "p0>c", "fuse"}, right{DecisionKind::Fusion, "p2>c", "fuse"};
  const auto has = [](const Decisions& decisions, const Decision& one) {
    return std::find(decisions.begin(), decisions.end(), one) != decisions.end();
  };
  FakeMeasurer measurer;
  measurer.each_s = 0.5;
  measurer.left_s = 60;
  measurer.lowering = [&](auto&, bool want_fusion) {
    Lowered l;
    if (want_fusion) l.dimensions = edges;
    return l;
  };
  measurer.speed = [&](const Decisions& d) { return (has(d, wrong) ? 2 : 1) * (has(d, right) ? 1.2 : 0.98); };
  std::map<std::string, int> compared;  // by the search, not by the confirmation
  measurer.on_inputs = [&](const Decisions& d, InputKind inputs) {
    if (!measurer.confirming && inputs == InputKind::Large) ++compared[to_text(d)];
    return has(d, wrong) && inputs == InputKind::Special ? Outcome::Mismatch : Outcome::Ok;
  };
  TuneOptions options;
  options.budget_s = 60;
  options.fusion_plan.only = true;
  const ProgramResult result = tune_program(measurer, options);
  CHECK(has(result.decisions, right));
  CHECK_FALSE(has(result.decisions, wrong));
  CHECK(result.measurement.ratio > 1.15);
  const auto refused = std::find_if(result.steps.begin(), result.steps.end(),
                                    [](const Step& s) { return s.measurement.outcome == Outcome::Mismatch; });
  CHECK(refused != result.steps.end());
  CHECK_FALSE(compared.empty());
  for (const auto& [candidate, times] : compared) CHECK(times == 1);
}

}  // namespace hone::tune
