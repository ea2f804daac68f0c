#include "cost/ensemble.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.h"
#include "base/files.h"

using namespace hone;
using namespace hone::cost;

namespace {

class Fixed : public LearnedModel {
 public:
  Fixed(std::vector<double> answers, bool runtime, bool ratios = false)
      : answers_(std::move(answers)), runtime_(runtime), ratios_(ratios) {}
  std::string name() const override { return "fixed"; }
  std::string task() const override { return "tile"; }
  bool predicts_runtime() const override { return runtime_; }
  bool predicts_ratios() const override { return ratios_; }
  std::vector<double> predict(const KernelView&) override { return answers_; }

 private:
  std::vector<double> answers_;
  bool runtime_, ratios_;
};

std::vector<double> answer(std::vector<Fixed> fixed) {
  std::vector<std::unique_ptr<LearnedModel>> members;
  for (Fixed& f : fixed) members.push_back(std::make_unique<Fixed>(f));
  return make_ensemble(std::move(members))->predict({});
}

}  // namespace

TEST_CASE("an ensemble of run times is their geometric mean") {
  const std::vector<double> ns = answer({Fixed({100, 400}, true), Fixed({400, 100}, true)});
  REQUIRE(ns.size() == 2);
  CHECK(ns[0] == Approx(200));
  CHECK(ns[1] == Approx(200));
}

TEST_CASE("scores of any scale have equal weight, and run times are averaged as logarithms") {
  // Differences from the mean / standard deviation: -1 and 1 for each pair, independent of its scale.
  const std::vector<double> pair = answer({Fixed({0, 1000}, false), Fixed({0.2, 0.1}, false), Fixed({1, 3}, false)});
  CHECK(pair[0] == Approx(-1.0 / 3));
  CHECK(pair[1] == Approx(1.0 / 3));
  // Logarithms 0, 1, 2 have standard deviation sqrt(2/3); a member with equal scores contributes 0.
  const std::vector<double> mixed = answer({Fixed({1, std::exp(1), std::exp(2)}, true), Fixed({5, 5, 5}, false)});
  CHECK(mixed[0] == Approx(-0.5 * std::sqrt(1.5)));
  CHECK(mixed[1] == Approx(0).margin(1e-12));
  CHECK(mixed[2] == Approx(0.5 * std::sqrt(1.5)));
}

TEST_CASE("ratios keep their scale") {
  // With means 1 and log 2 subtracted, the logarithms of ratios are averaged.
  const std::vector<double> both = answer({Fixed({0, 2}, false, true), Fixed({1, 4}, true)});
  CHECK(both[1] - both[0] == Approx((2 + std::log(4)) / 2));
  CHECK(both[0] + both[1] == Approx(0).margin(1e-12));
  // Together with a score without a scale they are also standardised.
  const std::vector<double> mixed = answer({Fixed({0, 2}, false, true), Fixed({0, 7}, false)});
  CHECK(mixed[1] - mixed[0] == Approx(2));
}

TEST_CASE("a folder without weights is refused by name") {
  const TempDir folder;
  try {
    open_ensemble(folder.path().string(), features::this_cpu(1));
    FAIL("accepted");
  } catch (const Error& refused) {
    CHECK(refused.where() == folder.path().string());
  }
}
