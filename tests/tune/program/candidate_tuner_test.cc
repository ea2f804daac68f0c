#include "tune/program/candidate_tuner.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/tune/fake_measurer.h"

namespace hone::tune {
namespace {

Candidate candidate(const std::string& name) { return {name, {{DecisionKind::Fusion, name + ">x", "fuse"}}}; }

const std::vector<Candidate> kThree = {candidate("slow"), candidate("fine"), candidate("good")};

double speed_of(const Decisions& decisions) {
  if (decisions.empty()) return 1;
  return decisions[0].key == "good>x" ? 1.2 : decisions[0].key == "fine>x" ? 1.1 : 0.7;
}

}  // namespace

TEST_CASE("of a few candidates the fastest is confirmed and kept", "[tune]") {
  FakeMeasurer measurer;
  measurer.speed = speed_of;
  const ProgramResult result = tune_candidates(measurer, kThree, {});
  CHECK(result.decisions == kThree[2].decisions);
  CHECK(result.measurement.ratio == Approx(1.2));
  CHECK(measurer.processes == 3);
  REQUIRE(result.steps.size() == 6);  // three candidates, three duels of the confirmation
  CHECK(result.steps[0].what == "slow");
  CHECK_FALSE(result.steps[0].kept);
  CHECK(result.steps[1].kept);
}

TEST_CASE("default XLA stays where no candidate is surely faster, or right", "[tune]") {
  FakeMeasurer measurer;
  measurer.speed = [](const Decisions& d) { return d.empty() ? 1.0 : 1.001; };
  CHECK(tune_candidates(measurer, kThree, {}).decisions.empty());
  FakeMeasurer wrong;
  wrong.speed = speed_of;
  wrong.outcome = [](const Decisions& d) { return d.empty() ? Outcome::Ok : Outcome::Mismatch; };
  const ProgramResult result = tune_candidates(wrong, kThree, {});
  CHECK(result.decisions.empty());
  CHECK(result.measurement.ratio == 1);
  CHECK(tune_candidates(measurer, {}, {}).decisions.empty());
}

TEST_CASE("a candidate that does not hold in a fresh process gives way to the next", "[tune]") {
  FakeMeasurer measurer;
  measurer.speed = [&](const Decisions& d) {
    return !d.empty() && d[0].key == "good>x" && measurer.confirming ? 0.9 : speed_of(d);
  };
  const ProgramResult result = tune_candidates(measurer, kThree, {});
  CHECK(result.decisions == kThree[1].decisions);
}

TEST_CASE("an interrupt keeps what was measured", "[tune]") {
  FakeMeasurer measurer;
  measurer.speed = speed_of;
  measurer.stop_after = 3;  // default, slow, fine
  const ProgramResult result = tune_candidates(measurer, kThree, {});
  CHECK(result.stopped);
  CHECK(result.decisions == kThree[1].decisions);
  FakeMeasurer broken;
  broken.outcome = [](const Decisions&) { return Outcome::RunFailed; };
  CHECK_THROWS_AS(tune_candidates(broken, kThree, {}), RunError);
}

TEST_CASE("an interrupt before a slow default XLA was measured leaves no choice among candidates", "[tune]") {
  FakeMeasurer late;
  late.stop_after = 0;
  late.outcome = [](const Decisions&) { return Outcome::TimedOut; };
  CHECK_THROWS_AS(tune_candidates(late, kThree, {}), Stopped);
}

}  // namespace hone::tune
