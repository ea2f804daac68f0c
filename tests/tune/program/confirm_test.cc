#include "tune/program/confirm.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "tests/tune/fake_measurer.h"

namespace hone::tune {

TEST_CASE("a gain that other processes do not see is no gain", "[tune]") {
  FakeMeasurer measurer;
  const Decisions decisions = {{DecisionKind::Option, "o", "1"}};
  measurer.speed = [&](const Decisions& d) { return d.empty() ? 1.0 : measurer.processes == 1 ? 1.21 : 1.0; };
  Confirmation lucky = confirm(measurer, decisions, Duel{}, 2);
  CHECK(lucky.holds);  // never slower, sometimes faster
  CHECK(lucky.combined.ratio == Approx(1.1));
  CHECK(lucky.combined.rounds == 18);
  measurer.processes = 1;
  measurer.speed = [&](const Decisions& d) { return d.empty() ? 1.0 : measurer.processes == 2 ? 0.9 : 1.3; };
  lucky = confirm(measurer, decisions, Duel{}, 3);
  CHECK_FALSE(lucky.holds);
  CHECK(lucky.duels.size() == 2);
  measurer.outcome = [](auto&) { return Outcome::Mismatch; };
  CHECK_FALSE(confirm(measurer, decisions, Duel{}, 3).holds);
}

TEST_CASE("known decisions are confirmed or given up", "[tune]") {
  FakeMeasurer measurer;
  const Decisions decisions = {{DecisionKind::Option, "o", "1"}};
  measurer.speed = [](const Decisions& d) { return d.empty() ? 1.0 : 1.2; };
  ProgramResult result = confirm_decisions(measurer, decisions, Duel{});
  CHECK(result.decisions == decisions);
  CHECK(result.steps.back().kept);
  measurer.speed = [](const Decisions& d) { return d.empty() ? 1.0 : 0.95; };
  result = confirm_decisions(measurer, decisions, Duel{});
  CHECK(result.decisions.empty());
  CHECK_FALSE(result.steps.back().kept);
}

TEST_CASE("of what a search found the fastest that holds is taken", "[tune]") {
  const Decisions good = {{DecisionKind::Option, "good", "1"}}, shaky = {{DecisionKind::Option, "shaky", "1"}};
  const auto search = [&](FakeMeasurer& measurer, int candidates) {
    measurer.speed = [&](const Decisions& d) {
      return d.empty() ? 1.0 : d == good ? 1.1 : measurer.confirming ? 0.9 : 1.3;
    };
    SearchRun run{measurer, [](const std::string&, double) {}};
    const auto measure = [&] {
      CHECK(run.try_against_default("good", good, 1.01).ok());
      CHECK(run.try_against_default("shaky", shaky, 1.01).ok());
    };
    search_and_confirm(run, measure, {.effort = {}, .processes = 1, .candidates = candidates});
    CHECK(run.gain == Approx(1.3));
    return run.result;
  };
  FakeMeasurer measurer, once;
  const ProgramResult result = search(measurer, 2);
  CHECK(result.decisions == good);
  CHECK(result.steps.size() == 4);  // two candidates, two confirmations
  CHECK_FALSE(result.steps[2].kept);
  CHECK(search(once, 1).decisions.empty());
}

TEST_CASE("nothing is searched if the outputs of default XLA cannot verify a candidate", "[tune]") {
  FakeMeasurer measurer;
  measurer.outcome = [](auto&) { return Outcome::Unverified; };
  SearchRun run{measurer, [](const std::string&, double) {}};
  search_and_confirm(run, [] { FAIL("searched"); }, {});
  CHECK_FALSE(run.result.note.empty());
  CHECK(measurer.confirming);
}

}  // namespace hone::tune
