#include "cost/kernel_ranker.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/tune/fake_measurer.h"
#include "tests/tune/real_worker.h"
#include "tests/tune/table_ranker.h"
#include "tune/kernel/kernel_tuner.h"

namespace hone::tune {

namespace {

Kernel many_tiles() {
  std::vector<std::string> options = {"default", "loop"};
  for (int i = 0; i < 200; ++i) options.push_back("tile=" + std::to_string(i + 1));
  return a_kernel("k", options);
}

KernelOptions ranked_by(cost::KernelRanker& ranker, int top_k) {
  KernelOptions options;
  options.ranker = &ranker;
  options.top_k = top_k;
  return options;
}

}  // namespace

TEST_CASE("options come in the order of their scores, without the default", "[tune]") {
  TableRanker ranker({{"c", 1}, {"a", 2}, {"b", 3}, {"default", 0}});
  const Kernel kernel = a_kernel("k", {"default", "a", "b", "c", "d"});
  CHECK(cost::ranked_options(kernel, cost::ranked_or_nothing(kernel, ranker).value()) == std::vector<int>{3, 1, 2, 4});
}

TEST_CASE("with top-k only the best ranked are measured, and the best of them wins", "[tune]") {
  TableRanker ranker({{"tile=7", 1}, {"tile=90", 2}, {"loop", 3}});
  FakeMeasurer measurer;
  measurer.kernel = [](auto&, const std::string& value) { return measured(value == "tile=90" ? 1.8 : 1.2); };
  Rng rng(0);
  const KernelReport report = tune_kernel(many_tiles(), measurer, 1e6, ranked_by(ranker, 3), rng);
  CHECK(report.tried == 3);
  CHECK(report.chosen == "tile=90");
  CHECK(report.complete);
}

TEST_CASE("without top-k the search climbs on from the best ranked", "[tune]") {
  TableRanker ranker({{"tile=60", 1}});
  FakeMeasurer measurer;
  // A peak at 64, four steps from the option that the model ranks best.
  measurer.kernel = [](auto&, const std::string& value) {
    const double tile = value == "loop" ? 1 : std::stod(value.substr(5));
    return measured(2 - std::abs(tile - 64) / 40);
  };
  Rng rng(0);
  const KernelReport report = tune_kernel(many_tiles(), measurer, 1e6, ranked_by(ranker, 0), rng);
  CHECK(report.chosen == "tile=64");
  REQUIRE(measurer.kernel_calls.size() > 2);
  CHECK(measurer.kernel_calls[0] == "k loop");  // other emitters come first
  CHECK(measurer.kernel_calls[1] == "k tile=60");
}

TEST_CASE("a kernel that no model can read is searched as if there were none, and kept under top-k", "[tune]") {
  TableRanker ranker({});
  FakeMeasurer measurer, other;
  measurer.kernel = other.kernel = [](auto&, auto&) { return measured(1.5); };
  Kernel kernel = a_kernel("k", {"default", "loop", "tile=8"});
  kernel.kind = "unreadable";
  Rng rng(0);
  CHECK(tune_kernel(kernel, measurer, 1e6, ranked_by(ranker, 0), rng).improved());
  const KernelReport kept = tune_kernel(kernel, other, 1e6, ranked_by(ranker, 1), rng);
  CHECK_FALSE(kept.improved());
  CHECK(kept.tried == 0);
}

TEST_CASE("top-k without a model is refused", "[tune]") {
  KernelOptions options;
  options.top_k = 10;
  CHECK_THROWS_AS(options.validate(), Error);
  options.top_k = -1;
  CHECK_THROWS_AS(options.validate(), Error);
}

TEST_CASE("the analytical model ranks the options of a real kernel", "[tune]") {
  if (no_worker()) return;
  Session session(with_worker());
  // Reads one of its operands across rows: the cache lines that a whole row of the output touches do not fit the cache.
  session.load(R"(HloModule transposed
ENTRY main {
  a = f32[4096,4096] parameter(0)
  b = f32[4096,4096] parameter(1)
  t = f32[4096,4096] transpose(b), dimensions={1,0}
  ROOT s = f32[4096,4096] add(a, t)
})",
               "transposed.hlo");
  const Lowered lowered = session.lower({}, false);
  REQUIRE(lowered.kernels.size() == 1);
  const Kernel& kernel = lowered.kernels[0];
  REQUIRE_FALSE(kernel.module.empty());
  const auto ranker = cost::analytical_ranker("", features::this_cpu(1));
  const std::vector<double> scores = ranker->scores(kernel, {"tile=8,8", "tile=1,4096"});
  REQUIRE(scores.size() == 2);
  CHECK(scores[0] < scores[1]);
  const std::vector<int> order = cost::ranked_options(kernel, cost::ranked_or_nothing(kernel, *ranker).value());
  CHECK(order.size() == kernel.dimension.options.size() - 1);
}

}  // namespace hone::tune
