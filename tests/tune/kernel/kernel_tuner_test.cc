#include "tune/kernel/kernel_tuner.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "base/error.h"
#include "graph/kernel_option.h"
#include "tests/tune/fake_measurer.h"
#include "tune/kernel/kernel_moves.h"

namespace hone::tune {

namespace {

const auto kNoProgress = [](const KernelsProgress&) {};

KernelReport tune(const Kernel& kernel, FakeMeasurer& measurer, const KernelOptions& options = {}) {
  Rng rng(1);
  return tune_kernel(kernel, measurer, 1e6, options, rng);
}

}  // namespace

TEST_CASE("a search with patience ends after as many options of which none was faster", "[tune]") {
  const Kernel kernel = a_kernel("k", {"default", "a=1", "a=2", "a=3", "a=4", "a=5"});
  KernelOptions options;
  options.patience = 2;
  options.first = [](const Kernel&) { return std::vector<int>{1, 2, 3, 4, 5}; };
  for (const bool second_is_faster : {false, true}) {
    FakeMeasurer measurer;
    measurer.kernel = [&](auto&, const std::string& value) {
      return measured(second_is_faster && value == "a=2" ? 1.3 : 0.7);
    };
    const KernelReport report = tune(kernel, measurer, options);
    CHECK(report.tried == (second_is_faster ? 5 : 2));
    CHECK(report.complete);
    CHECK(report.chosen == (second_is_faster ? "a=2" : "default"));
  }
}

TEST_CASE("a small space is covered and its best option wins", "[tune]") {
  FakeMeasurer measurer;
  measurer.kernel = [](auto&, const std::string& value) {
    if (value == "tile=1") return failed(Outcome::Crashed);
    if (value == "tile=2") return measured(0.5);
    if (value == "tile=4") return measured(1.4);
    if (value == "tile=8") return failed(Outcome::Mismatch);
    return measured(1.2);
  };
  const Kernel kernel = a_kernel("k", {"tile=16", "tile=1", "tile=2", "tile=4", "tile=8", "loop"});
  const KernelReport report = tune(kernel, measurer);
  CHECK(report.chosen == "tile=4");
  CHECK(report.gain == Approx(1.4));
  CHECK(report.default_value == "tile=16");
  CHECK(report.tried == 5);
  CHECK(report.complete);
  CHECK(report.top.front().value == "tile=4");
  CHECK(std::set<std::string>(measurer.kernel_calls.begin(), measurer.kernel_calls.end()).size() == 5);

  SECTION("and is remembered: the second time nothing is measured") {
    measurer.kernel_calls.clear();
    const KernelReport again = tune(kernel, measurer);
    CHECK(measurer.kernel_calls.empty());
    CHECK(again.known);
    CHECK(again.chosen == "tile=4");
    CHECK(again.gain == Approx(1.4));
  }
  SECTION("a remembered option that is no longer legal is searched again") {
    const KernelReport again = tune(a_kernel("k", {"tile=16", "loop"}), measurer);
    CHECK_FALSE(again.known);
    CHECK(again.chosen == "loop");
  }
}

TEST_CASE("a gain inside the noise is no gain", "[tune]") {
  FakeMeasurer measurer;
  measurer.kernel = [](auto&, auto&) { return measured(1.05, 0.06); };
  const KernelReport report = tune(a_kernel("k", {"loop", "tile=2"}), measurer);
  CHECK(report.chosen == "loop");
  CHECK(report.gain == 1);
  CHECK(measurer.database["k"].best->value == "loop");
}

TEST_CASE("a quick duel that was lucky loses the careful one", "[tune]") {
  FakeMeasurer measurer;
  int calls = 0;
  measurer.kernel = [&](auto&, const std::string& value) {
    if (value == "tile=2") return measured(++calls == 1 ? 2.0 : 0.9);
    return measured(1.3);
  };
  CHECK(tune(a_kernel("k", {"loop", "tile=2", "tile=4"}), measurer).chosen == "tile=4");
}

TEST_CASE("a careful duel that fails removes the finalist", "[tune]") {
  FakeMeasurer measurer;
  int calls = 0;
  measurer.kernel = [&](auto&, const std::string& value) {
    if (value == "tile=2") return ++calls == 1 ? measured(2.0) : failed(Outcome::Mismatch);
    return measured(1.3);
  };
  CHECK(tune(a_kernel("k", {"loop", "tile=2", "tile=4"}), measurer).chosen == "tile=4");
}

TEST_CASE("climbing finds the top of a smooth large space", "[tune]") {
  Kernel kernel = a_kernel("k", {"loop"});
  for (int a = 0; a <= 10; ++a)
    for (int b = 0; b <= 10; ++b)
      for (int c = 0; c <= 10; ++c)
        kernel.dimension.options.push_back("tile=" + std::to_string(1 << a) + "," + std::to_string(1 << b) + "," +
                                           std::to_string(1 << c));
  FakeMeasurer measurer;
  measurer.kernel = [](auto&, const std::string& value) {
    if (value == "loop") return measured(1);
    const std::vector<int64_t> t = KernelOption::parse(value).tile;
    const double away = std::abs(std::log2(t[0]) - 3) + std::abs(std::log2(t[1]) - 7) + std::abs(std::log2(t[2]) - 1);
    return measured(2 - 0.05 * away, 0.001);
  };
  const KernelReport report = tune(kernel, measurer);
  CHECK(report.chosen == "tile=8,128,2");
  CHECK(report.tried < 165);
}

TEST_CASE("options that were measured before are not measured again", "[tune]") {
  FakeMeasurer measurer;
  measurer.kernel = [](auto&, auto&) { return measured(0.9); };
  measurer.database["k"].measured["tile=2"] = measured(0.8);
  const KernelReport report = tune(a_kernel("k", {"loop", "tile=2", "tile=4"}), measurer);
  CHECK(measurer.kernel_calls == std::vector<std::string>{"k tile=4"});
  CHECK(report.complete);
}

TEST_CASE("a search cut short by its budget keeps its best and is not remembered", "[tune]") {
  FakeMeasurer measurer;
  measurer.left_s = 10;
  measurer.each_s = 1;
  measurer.kernel = [](auto&, auto&) { return measured(1.5); };
  Kernel kernel = a_kernel("k", {"loop"});
  for (int i = 1; i < 40; ++i) kernel.dimension.options.push_back("tile=" + std::to_string(i));
  Rng rng(0);
  const KernelReport report = tune_kernel(kernel, measurer, 3, {}, rng);
  CHECK(report.tried == 3);
  CHECK(report.improved());
  CHECK_FALSE(report.complete);
  CHECK_FALSE(measurer.database["k"].best);
}

TEST_CASE("kernels are tuned most valuable first; those with nothing to decide are left out", "[tune]") {
  FakeMeasurer measurer;
  const std::vector<Kernel> kernels = {a_kernel("small", {"default", "loop"}, 0, 0.1),
                                       a_kernel("none", {"default"}, 0, 0.4),
                                       a_kernel("large", {"default", "loop"}, 0, 0.5)};
  Rng rng(0);
  const auto reports = tune_kernels(kernels, measurer, 100, {}, rng, kNoProgress);
  REQUIRE(reports.size() == 2);
  CHECK(reports[0].name == "large");
  CHECK(reports[0].share == Approx(0.5));
  CHECK(reports[1].name == "small");
}

TEST_CASE("kernel options are checked", "[tune]") {
  KernelOptions options;
  options.samples = 0;
  CHECK_THROWS_AS(options.validate(), Error);
}

}  // namespace hone::tune
