#include "tune/program/layout_tuner.h"

#include <catch2/catch.hpp>

#include "tests/tune/fake_measurer.h"

namespace hone::tune {
namespace {

// Three instructions; the last option of "good" gains 20 %, of "fine" 5 %, everything else loses.
LayoutSpace three() {
  LayoutSpace layouts;
  for (const char* key : {"good", "bad", "fine"})
    layouts.space.dimensions.push_back({DecisionKind::Layout, key, {"default", "-/0,1/-", "-/-/0,1"}, 0, 1});
  return layouts;
}

double speed_of(const Decisions& decisions) {
  double speed = 1;
  for (const Decision& d : decisions) {
    const bool last = d.value == "-/-/0,1";
    speed *= d.key == "good" && last ? 1.2 : d.key == "fine" && last ? 1.05 : 0.8;
  }
  return speed;
}

LayoutTuneOptions quick() {
  LayoutTuneOptions options;
  options.budget_s = 1000;
  return options;
}

}  // namespace

TEST_CASE("layouts that gain are found, confirmed and kept", "[tune]") {
  FakeMeasurer measurer;
  measurer.speed = speed_of;
  const ProgramResult result = tune_layouts(measurer, three(), quick());
  CHECK(result.decisions ==
        Decisions{{DecisionKind::Layout, "fine", "-/-/0,1"}, {DecisionKind::Layout, "good", "-/-/0,1"}});
  CHECK(result.measurement.ratio == Approx(1.26));
  CHECK(measurer.confirming);
  CHECK(measurer.processes == 3);
}

TEST_CASE("layouts that bring nothing, fail or change outputs leave default XLA", "[tune]") {
  FakeMeasurer measurer;
  measurer.speed = [](const Decisions& d) { return d.empty() ? 1.0 : 0.9; };
  CHECK(tune_layouts(measurer, three(), quick()).decisions.empty());
  FakeMeasurer wrong;
  wrong.speed = speed_of;
  wrong.outcome = [](const Decisions& d) { return d.empty() ? Outcome::Ok : Outcome::Mismatch; };
  const ProgramResult result = tune_layouts(wrong, three(), quick());
  CHECK(result.decisions.empty());
  CHECK(result.measurement.ratio == 1);
  FakeMeasurer idle;
  CHECK_THAT(tune_layouts(idle, {}, quick()).note, Catch::Contains("to lay out"));
}

TEST_CASE("a ranker decides which layouts are measured", "[tune]") {
  FakeMeasurer measurer;
  measurer.speed = speed_of;
  LayoutTuneOptions options = quick();
  options.measured = 2;
  size_t ranked = 0;
  options.ranker = [&](const LayoutSpace& layouts, std::span<const Choice> choices) {
    ranked = choices.size();
    std::vector<double> scores;
    for (const Choice& choice : choices) scores.push_back(1 / speed_of(layouts.space.decisions(choice)));
    return scores;
  };
  const ProgramResult result = tune_layouts(measurer, three(), options);
  CHECK(ranked > 20);  // of 26
  CHECK(result.decisions.size() == 2);
  CHECK(measurer.program_calls.size() == 1 + 2 + 3);  // the default, two candidates, three confirmations
}

TEST_CASE("the end of the budget ends the search of layouts, not its confirmation", "[tune]") {
  FakeMeasurer measurer;
  measurer.speed = speed_of;
  measurer.stop_after = 3;
  const ProgramResult result = tune_layouts(measurer, three(), quick());
  CHECK(result.stopped);
  CHECK(result.decisions == Decisions{{DecisionKind::Layout, "good", "-/-/0,1"}});
}

TEST_CASE("an interrupt before a slow default XLA was measured leaves no layouts", "[tune]") {
  FakeMeasurer late;
  late.stop_after = 0;
  late.outcome = [](const Decisions&) { return Outcome::TimedOut; };
  CHECK_THROWS_AS(tune_layouts(late, three(), quick()), Stopped);
}

}  // namespace hone::tune
