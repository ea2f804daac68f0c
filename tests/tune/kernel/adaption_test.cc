#include "tune/kernel/adaption.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>

#include "base/files.h"
#include "base/rng.h"
#include "tests/graph/module_proto.h"
#include "tests/tune/fake_measurer.h"

namespace hone::tune {
namespace {

double normal(Rng& rng) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += rng.uniform();
  return sum;
}

// Kernels of eight options with two features beside the shipped model's margin. `run_time` makes log ratios of them.
std::vector<AdaptionSample> machine(
    int kernels, uint64_t seed, const std::function<double(double margin, double a, double b, Rng& rng)>& run_time) {
  Rng rng(seed);
  std::vector<AdaptionSample> samples;
  for (int k = 0; k < kernels; ++k) {
    AdaptionSample s{"kernel " + std::to_string(k), {}, {}, {}};
    for (int option = 0; option < 8; ++option) {
      const double margin = normal(rng), a = normal(rng), b = normal(rng);
      s.features.push_back({margin, a, b});
      s.margins.push_back(margin);
      s.log_ratios.push_back(run_time(margin, a, b, rng));
    }
    samples.push_back(std::move(s));
  }
  return samples;
}

AdaptionReport report_of(const std::vector<AdaptionSample>& samples) {
  Adaption adaption("", "model");
  for (const AdaptionSample& s : samples) adaption.add(s);
  return adaption.refit();
}

// Ranks loops before tiles.
class LoopsFirst : public cost::KernelRanker {
 public:
  std::string name() const override { return "loops first"; }
  std::vector<double> scores(const Kernel&, const std::vector<std::string>& options) override {
    std::vector<double> scores;
    for (const std::string& option : options)
      scores.push_back(option == "loop"      ? -1
                       : option == "default" ? 0
                                             : 1 + 0.001 * static_cast<double>(scores.size()));
    return scores;
  }
};

Kernel real_kernel(int number) {
  Kernel kernel = a_kernel("kernel " + std::to_string(number),
                           {"default", "loop", "tile=1,64", "tile=8,64", "tile=16,16", "tile=128,1"});
  kernel.module = test::fusion_module();
  kernel.default_tile = "1,64";
  return kernel;
}

}  // namespace

TEST_CASE("ridge regression solves its normal equations", "[tune]") {
  // One sample of two options: weight 1/sqrt(2) each. Features [1, 0] and [1, 1], y 1 and 3, hardly any penalty.
  const AdaptionSample s{"k", {{1, 0}, {1, 1}}, {0, 0}, {1, 1.5}};
  const RidgeHead head = fit_ridge({s}, 1e-9);
  CHECK(head.weights[0] == Approx(1));
  CHECK(head.weights[1] == Approx(0.5));
  CHECK(head.predict({2, 2}) == Approx(3));
  const RidgeHead stiff = fit_ridge({s}, 1e6);
  CHECK(std::abs(stiff.predict({0, 1})) < 0.01);
}

TEST_CASE("order errors weigh pairs by their difference, the default among them", "[tune]") {
  CHECK(order_error({-1, 1}, {-0.5, 0.5}).value() == 0);
  CHECK(order_error({1, -1}, {-0.5, 0.5}).value() == 1);
  CHECK(order_error({-1, -2}, {-0.5, 0.5}).value() == Approx(1.5 / 2));  // wrong: the second, and the pair
  CHECK_FALSE(order_error({1, 2}, {0.001, -0.001}));
}

TEST_CASE("a machine with shifted costs is learned, and orders held-back kernels better", "[tune]") {
  // The shipped model does not model the costs of this machine.
  const auto samples = machine(
      120, 3, [](double margin, double a, double, Rng& rng) { return -0.05 * margin + 0.4 * a + 0.02 * normal(rng); });
  const AdaptionReport report = report_of(samples);
  CHECK(report.kernels == 120);
  CHECK(report.held_back == 120);  // each once
  CHECK(report.used);
  CHECK(report.adapted_error < 0.05);
  CHECK(report.shipped_error > 0.3);
  CHECK(report.adapted_regret < 0.1 * report.shipped_regret);
  CHECK(report.residual == Approx(0.02).epsilon(0.5));
}

TEST_CASE("noise, too few kernels and an accurate model change nothing", "[tune]") {
  for (uint64_t seed = 0; seed < 20; ++seed)
    CHECK_FALSE(report_of(machine(120, seed, [](double, double, double, Rng& rng) { return 0.5 * normal(rng); })).used);
  CHECK_FALSE(report_of(machine(12, 0, [](double, double a, double, Rng&) { return a; })).used);
  const AdaptionReport right = report_of(
      machine(120, 1, [](double margin, double, double, Rng& rng) { return -0.3 * margin + 0.02 * normal(rng); }));
  CHECK_FALSE(right.used);
  CHECK(right.adapted_error <= right.shipped_error + 0.01);
}

TEST_CASE("features of the default are all 0, and a kernel's are as wide as another's", "[tune]") {
  const Kernel kernel = real_kernel(0);
  LoopsFirst ranker;
  const cost::EncodedOptions encoded(kernel, kernel.dimension.options);
  const auto rows = adaption_features(encoded.view(), ranker.rank(kernel, kernel.dimension.options), 0);
  REQUIRE(rows.size() == kernel.dimension.options.size());
  for (double value : rows[0]) CHECK(value == 0);
  CHECK(rows[1][0] == Approx(1));  // the margin of loops
  CHECK(rows[1] != rows[2]);
}

TEST_CASE("an adapted ranker learns from searches, keeps what it learned, and says what it expects", "[tune]") {
  const TempDir folder;
  const std::string path = (folder.path() / "db.adaption.jsonl").string();
  LoopsFirst shipped;
  Adaption adaption(path, "model");
  AdaptedRanker ranker(shipped, adaption);
  const auto likes_best = [](cost::KernelRanker& r) {
    const Kernel kernel = real_kernel(1000);
    return kernel.dimension.options[cost::ranked_options(kernel, cost::ranked_or_nothing(kernel, r).value()).front()];
  };
  CHECK(likes_best(ranker) == "loop");
  // Here loops take twice as long, and small tiles half.
  for (int i = 0; i < 80; ++i)
    ranker.learn(real_kernel(i), {{"loop", 2.0}, {"tile=8,64", 0.9}, {"tile=16,16", 0.5}, {"tile=128,1", 1.5}});
  REQUIRE(adaption.head());
  CHECK(likes_best(ranker) == "tile=16,16");
  const cost::RankedScores ranked = ranker.rank(real_kernel(2000), {"default", "loop", "tile=16,16"});
  CHECK(ranked.log_ratios);
  CHECK(ranked.scores[0] == 0);
  CHECK(ranked.scores[1] > 0.3);
  CHECK(ranked.scores[2] < -0.3);
  CHECK(ranked.spreads[1] == adaption.report().residual);
  CHECK(ranker.name().find("adapted") != std::string::npos);

  SECTION("the next run reads it, except for half-written lines") {
    std::ofstream(path, std::ios::app) << "{\"model\": \"model\", \"ker";
    Adaption again(path, "model");
    CHECK(again.size() == 80);
    CHECK(again.head());
    CHECK(Adaption(path, "other weights").size() == 0);
    CHECK(Adaption((folder.path() / "none").string(), "model").size() == 0);
  }
  SECTION("a kernel that cannot be encoded is skipped") {
    ranker.learn(a_kernel("no module", {"default", "loop"}), {{"loop", 2.0}});
    ranker.learn(real_kernel(500), {});
    CHECK(adaption.size() == 80);
  }
}

}  // namespace hone::tune
