// Many kernels in one run: rounds in which each has another option, and winners that are kept only if they gain there.
#include <catch2/catch.hpp>

#include "tests/tune/fake_measurer.h"
#include "tests/tune/program/chain.h"
#include "tune/kernel/option_walk.h"
#include "tune/program/program_tuner.h"

namespace hone::tune {

namespace {

constexpr int kKernels = 30;

std::string best_of(const Kernel& kernel) { return kernel.fingerprint.size() % 2 == 0 ? "tile=2" : "tile=4"; }

// Thirty kernels of equal share. The best option of each makes it 1.25 times as fast; all others are slower.
FakeMeasurer many_kernels() {
  FakeMeasurer measurer;
  measurer.left_s = 60;
  measurer.each_s = 0.02;
  measurer.program_s = 0.4;
  measurer.run_ns = 30e6;
  measurer.compile_ms = 300;
  const auto option = [](const Kernel& k, const std::string& value) {
    return measured(value == k.default_value() ? 1 : value == best_of(k) ? 1.25 : 0.8);
  };
  measurer.kernel = measurer.in_place = option;
  std::vector<Kernel> kernels;
  for (int i = 0; i < kKernels; ++i) {
    kernels.push_back(a_kernel("k" + std::to_string(i), {"loop", "tile=2", "tile=4", "tile=8"}, 0, 1.0 / kKernels));
    kernels.back().instructions = {"fusion." + std::to_string(i)};
  }
  Lowered lowered;
  lowered.fingerprint = "f";
  lowered.kernels = kernels;
  measurer.lowering = [lowered](auto&, bool) { return lowered; };
  measurer.speed = [kernels, option](const Decisions& d) {
    double time = 0;
    for (const Kernel& k : kernels) time += 1 / option(k, value_of(d, k)).ratio / kKernels;
    return 1 / time;
  };
  return measurer;
}

TuneOptions no_fusion() {
  TuneOptions options;
  options.fusion = false;
  return options;
}

}  // namespace

TEST_CASE("one run measures an option of every kernel", "[tune]") {
  FakeMeasurer measurer = many_kernels();
  const ProgramResult result = tune_program(measurer, no_fusion());
  CHECK(measurer.in_place_calls.size() < 12);  // three options of each of thirty kernels
  CHECK(measurer.kernel_calls.empty());
  CHECK(result.measurement.ratio == Approx(1.25));
  CHECK(result.decisions.size() == kKernels);
  for (const KernelReport& k : result.kernels) {
    CHECK(k.in_place);
    CHECK(k.kept);
    CHECK(k.tried == 3);
    CHECK(k.gain_in_place == Approx(1.25));
  }
}

TEST_CASE("the option of a kernel that breaks the program is found and left out", "[tune]") {
  FakeMeasurer measurer = many_kernels();
  measurer.outcome = [](const Decisions& d) {
    return std::any_of(d.begin(), d.end(), [](const Decision& x) { return x.key == "k7" && x.value == "tile=8"; })
               ? Outcome::Mismatch
               : Outcome::Ok;
  };
  const ProgramResult result = tune_program(measurer, no_fusion());
  CHECK(result.decisions.size() == kKernels);
  CHECK(result.measurement.ratio == Approx(1.25));
}

TEST_CASE("kernels that gain by themselves and lose in the program are left out", "[tune]") {
  FakeMeasurer measurer = many_kernels();
  const auto alone = measurer.kernel;
  measurer.in_place = [alone](const Kernel& k, const std::string& value) {
    return k.fingerprint < "k2" && value != k.default_value() ? measured(0.9) : alone(k, value);
  };
  const auto lowered = measurer.lowering({}, false);
  measurer.speed = [lowered, at = measurer.in_place](const Decisions& d) {
    double time = 0;
    for (const Kernel& k : lowered.kernels) time += 1 / at(k, value_of(d, k)).ratio / kKernels;
    return 1 / time;
  };
  measurer.run_ns = 1e5;  // calls of 3 us: too short to be timed in the program before they have won
  const ProgramResult result = tune_program(measurer, no_fusion());
  CHECK_FALSE(measurer.kernel_calls.empty());
  for (const Decision& d : result.decisions) CHECK(d.key >= "k2");
  CHECK(result.decisions.size() == 18);
}

TEST_CASE("kernels are timed in the program by a worker", "[tune]") {
  const auto session = chain_session();
  const Lowered lowered = session->lower({}, false);
  std::vector<const Kernel*> kernels;
  Decisions options;
  for (const Kernel& k : lowered.kernels) {
    if (k.kind != "fusion" || k.dimension.options.size() < 2) continue;
    kernels.push_back(&k);
    options.push_back(as_decision(k.dimension, k.dimension.default_option == 0 ? 1 : 0));
  }
  REQUIRE_FALSE(kernels.empty());
  const InPlaceDuel found = session->measure_in_place(
      options, {}, kernels, {.min_rounds = 6, .max_rounds = 12, .budget_ms = 200, .precision = 0});
  REQUIRE(found.program.ok());
  REQUIRE(found.kernels.size() == kernels.size());
  double kernels_ns = 0;
  for (const Measurement& m : found.kernels) {
    CHECK(m.ok());
    CHECK(m.rounds == found.program.rounds);
    CHECK(m.ratio_low <= m.ratio);
    kernels_ns += m.baseline_ns;
  }
  CHECK(kernels_ns < 1.2 * found.program.baseline_ns);
}

}  // namespace hone::tune
