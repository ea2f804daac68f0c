#include "tune/session/timeline.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/tune/fake_measurer.h"
#include "tune/session/decision_list.h"

namespace hone::tune {

namespace {

const Decision kWide{DecisionKind::Option, "vector_width", "512"}, kNarrow{DecisionKind::Option, "vector_width", "128"},
    kTransposed{DecisionKind::Weights, "3", "transposed"};

}  // namespace

TEST_CASE("a timeline forwards calls and records the results", "[tune]") {
  FakeMeasurer measurer;
  measurer.kernel = [](auto&, const std::string& value) {
    return value == "loop" ? failed(Outcome::Crashed) : measured(1.5);
  };
  measurer.speed = [](const Decisions& d) { return 1 + 0.25 * static_cast<double>(d.size()); };
  Timeline timeline(measurer);
  const Kernel kernel = a_kernel("k1", {"default", "loop", "tile=8,8"});
  CHECK(timeline.measure_kernel(kernel, "loop", {}).outcome == Outcome::Crashed);
  CHECK(timeline.measure_kernel(kernel, "tile=8,8", {}).ratio == 1.5);
  timeline.measure_program({}, {}, {});
  timeline.measure_program({kWide}, {}, {});
  timeline.measure_program({kWide, kTransposed}, {kWide}, {});
  timeline.begin_confirmation();
  timeline.measure_program({kWide, kTransposed}, {}, {});
  CHECK(measurer.confirming);

  const std::vector<Trial>& trials = timeline.trials();
  REQUIRE(trials.size() == 6);
  CHECK(trials[0].kernel == "k1");
  CHECK(trials[0].outcome == Outcome::Crashed);
  CHECK(trials[1].what == "tile=8,8");
  CHECK(trials[2].what == "default XLA");
  CHECK(trials[2].against == Trial::kDefault);
  CHECK(trials[3].what == in_words(kWide));
  CHECK(trials[4].against == 3);
  CHECK(trials[4].what == in_words(kTransposed));
  CHECK(trials[5].against == Trial::kDefault);
  CHECK(trials[5].confirms);
  CHECK_FALSE(trials[4].confirms);
  for (size_t i = 0; i < trials.size(); ++i) {
    CHECK(trials[i].end_s >= trials[i].start_s);
    if (i > 0) CHECK(trials[i].start_s >= trials[i - 1].end_s);
  }

  const std::vector<double> gains = gains_over_default(trials);
  CHECK(gains[1] == 0);  // of a kernel
  CHECK(gains[3] == Approx(1.25));
  CHECK(gains[4] == Approx(1.5));  // 1.25 * (1.5 / 1.25)
  CHECK(adopted_trials(trials) == std::vector<bool>{false, false, false, true, false, false});
}

TEST_CASE("against a baseline that was not measured, the gain over default XLA is unknown", "[tune]") {
  FakeMeasurer measurer;
  Timeline timeline(measurer);
  timeline.measure_program({kWide, kTransposed}, {kWide}, {});
  CHECK(timeline.trials()[0].against == Trial::kUnknown);
  CHECK(gains_over_default(timeline.trials())[0] == 0);
}

TEST_CASE("a lowering that fails is recorded and still fails", "[tune]") {
  FakeMeasurer measurer;
  measurer.lowering = [](auto&, bool) -> Lowered { throw RunError("no"); };
  Timeline timeline(measurer);
  CHECK_THROWS_AS(timeline.lower({}, false), RunError);
  REQUIRE(timeline.trials().size() == 1);
  CHECK(timeline.trials()[0].scope == "lower");
  CHECK(timeline.trials()[0].outcome == Outcome::CompileFailed);
}

TEST_CASE("the difference between a candidate and its baseline, in words", "[tune]") {
  CHECK(difference_in_words({}, {}) == "default XLA");
  CHECK(difference_in_words({kWide}, {kWide}) == "the same again");
  CHECK(difference_in_words({kWide}, {kNarrow}) == in_words(kWide));
  CHECK(difference_in_words({}, {kWide}) == "without " + in_words(kWide));
  Decisions many = {kWide, kTransposed};
  for (const char* key : {"a", "b"}) many.push_back({DecisionKind::Codegen, key, "loop"});
  CHECK(difference_in_words(many, {}) == "4 decisions (2 codegen, 1 option, 1 weights)");
}

}  // namespace hone::tune
