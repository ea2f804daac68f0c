#include "tune/program/confirm.h"

#include <algorithm>
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

TEST_CASE("what is kept was verified on inputs of at least three kinds", "[tune]") {
  const Decisions decisions = {{DecisionKind::Option, "o", "1"}};
  FakeMeasurer fast, slow, slower;
  fast.speed = slow.speed = [](const Decisions& d) { return d.empty() ? 1.0 : 1.2; };
  slower.speed = [](const Decisions& d) { return d.empty() ? 1.0 : 0.8; };
  slow.run_ns = 5e8;
  CHECK(confirm(fast, decisions, Duel{}, 2).holds);
  CHECK(fast.inputs_seen.size() == input_kinds().size() - 1);  // the duels are on the ordinary ones
  CHECK(std::count(fast.inputs_seen.begin(), fast.inputs_seen.end(), InputKind::Ordinary) == 0);
  CHECK(confirm(slow, decisions, Duel{}, 2).holds);
  CHECK(slow.inputs_seen == std::vector{InputKind::Special, InputKind::Large});
  CHECK_FALSE(confirm(slower, decisions, Duel{}, 2).holds);
  CHECK(slower.inputs_seen.empty());
}

TEST_CASE("decisions that differ on inputs of another kind are refused", "[tune]") {
  const Decisions decisions = {{DecisionKind::Option, "o", "1"}};
  const InputKind wrong = GENERATE(InputKind::Special, InputKind::Zeros);
  FakeMeasurer measurer;
  measurer.speed = [](const Decisions& d) { return d.empty() ? 1.0 : 1.2; };
  measurer.on_inputs = [&](auto&, InputKind kind) { return kind == wrong ? Outcome::Mismatch : Outcome::Ok; };
  const Confirmation refused = confirm(measurer, decisions, Duel{}, 2);
  CHECK_FALSE(refused.holds);
  CHECK(refused.duels.size() == 3);
  CHECK(refused.combined.outcome == Outcome::Mismatch);
  const ProgramResult known = confirm_decisions(measurer, decisions, Duel{});
  CHECK(known.decisions.empty());
  CHECK(known.steps.back().measurement.outcome == Outcome::Mismatch);
  measurer.on_inputs = [](auto&, InputKind) { return Outcome::Unverified; };  // they prove nothing
  CHECK(confirm(measurer, decisions, Duel{}, 2).holds);
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
