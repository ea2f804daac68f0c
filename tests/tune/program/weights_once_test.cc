// What a program computes from its weights alone, on every run, and the experiment that computes it once.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/tune/fake_measurer.h"
#include "tests/tune/real_worker.h"
#include "tune/program/program_tuner.h"
#include "tune/session/session.h"

namespace hone::tune {
namespace {

// Reads a weight converted and summed, one that is added to an input, and a sum of an input alone.
constexpr char kProgram[] = R"(HloModule weights
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY main {
  x = f32[64] parameter(0)
  w = f16[64,32] parameter(1)
  v = f32[64] parameter(2)
  zero = f32[] constant(0)
  wide = f32[64,32] convert(w)
  sums = f32[64] reduce(wide, zero), dimensions={1}, to_apply=add
  shifted = f32[64] add(x, v)
  ROOT out = (f32[64], f32[64]) tuple(sums, shifted)
}
)";

std::vector<std::string> of_weights(const std::vector<int>& weights) {
  SessionOptions options = with_worker();
  options.target.weights = weights;
  Session session(options);
  session.load(kProgram, "weights");
  return session.lower({}, false).of_weights;
}

FakeMeasurer half_of_weights(bool listed) {
  FakeMeasurer measurer;
  measurer.left_s = 60;
  measurer.each_s = 0.1;
  measurer.program_s = 5;
  measurer.run_ns = 100e6;
  measurer.compile_ms = 2000;
  measurer.times = {{"convert", 60e6}, {"kernel", 40e6}};
  measurer.lowering = [listed](auto&, bool) {
    Lowered l;
    l.fingerprint = "f";
    l.dimensions = {{DecisionKind::Weights, "all", {"as-is", "transposed", "constant"}, 0, 0}};
    for (const char* key : {"vector_width", "loop_unrolling", "multi_output_fusion", "huge_pages"})
      l.dimensions.push_back({DecisionKind::Option, key, {"default", "512", "128", "off", "on"}, 0, 0});
    if (listed) l.of_weights = {"convert"};
    return l;
  };
  measurer.speed = [](const Decisions& d) {
    const auto constant = [](const Decision& one) { return one.value == "constant"; };
    return std::any_of(d.begin(), d.end(), constant) ? 2.5 : 1.0;
  };
  return measurer;
}

}  // namespace

TEST_CASE("instructions computed from declared weights alone are listed", "[tune]") {
  if (no_worker()) return;
  CHECK(of_weights({1, 2}).size() == 1);  // the sum, into which the conversion is fused
  CHECK(of_weights({2}).empty());
  CHECK(of_weights({0, 2}).size() == 1);  // the addition
  CHECK(of_weights({}).empty());
}

TEST_CASE("what most of a program's time computes from weights is tried as constants first", "[tune]") {
  TuneOptions options;
  options.budget_s = 60;
  FakeMeasurer listed = half_of_weights(true), unlisted = half_of_weights(false);
  const ProgramResult first = tune_program(listed, options), later = tune_program(unlisted, options);
  REQUIRE_FALSE(first.schedule.empty());
  REQUIRE_FALSE(later.schedule.empty());
  CHECK(first.schedule[0].step == "weights computed once");
  CHECK(first.measurement.ratio == Approx(2.5));
  CHECK(later.schedule[0].step != "weights computed once");
  // Nor does it take a profile: by bytes, most of the time is in what converts them.
  FakeMeasurer estimated = half_of_weights(true);
  estimated.times.clear();
  estimated.lowering = [&, plain = estimated.lowering](auto& decisions, bool fusion) {
    Lowered l = plain(decisions, fusion);
    l.kernels = {a_kernel("converts", {"loop", "tile=8"}, 0, 0.6), a_kernel("other", {"loop", "tile=8"}, 0, 0.4)};
    l.kernels[0].instructions = {"convert"};
    return l;
  };
  const ProgramResult without = tune_program(estimated, options);
  REQUIRE_FALSE(without.schedule.empty());
  CHECK(without.schedule[0].step == "weights computed once");
}

}  // namespace hone::tune
