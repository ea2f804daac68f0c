// How a program's threads work, each way after a duel (thread_options.h).
#include "optimize/thread_options.h"

#include <catch2/catch.hpp>

#include "graph/program_option.h"
#include "optimize/optimize.h"
#include "tests/tune/fake_measurer.h"
#include "tests/tune/table_ranker.h"

namespace hone::optimize {

namespace {

const Decision kActive{DecisionKind::Option, kWaitPolicy, "active"}, kOne{DecisionKind::Option, kIntraOpThreads, "1"},
    kHalf{DecisionKind::Option, kIntraOpThreads, "half"};

std::vector<Dimension> of_four_threads() {
  return {{DecisionKind::Option, kWaitPolicy, {"passive", "active"}, 0, 0},
          {DecisionKind::Option, "fusion_duplication", {"default", "forbid"}, 0, 0},
          {DecisionKind::Option, kIntraOpThreads, {"all", "half", "1"}, 0, 0}};
}

struct ThreadSpeeds {
  double active = 1, half = 1, one = 1;
};

OptimizeReport with_threads(const ThreadSpeeds& speeds, tune::FakeMeasurer& measurer, double guard_s = 1) {
  measurer.lowering = [](const Decisions&, bool) {
    Lowered l;
    l.dimensions = of_four_threads();
    return l;
  };
  measurer.speed = [speeds](const Decisions& d) {
    return (has(d, kActive) ? speeds.active : 1) * (has(d, kHalf) ? speeds.half : 1) * (has(d, kOne) ? speeds.one : 1);
  };
  OptimizeOptions options;
  options.guard_s = guard_s;
  tune::TableRanker ranker({});
  return optimize_program(measurer, ranker, {}, options);
}

}  // namespace

TEST_CASE("candidates are the other ways in which threads work", "[tune]") {
  std::vector<Decision> candidates;
  for (const DuelCandidate& c : thread_candidates(of_four_threads())) candidates.push_back(c.decision);
  CHECK(candidates == std::vector<Decision>{kActive, kHalf, kOne});
  CHECK(thread_candidates({{DecisionKind::Option, "fusion_duplication", {"default", "forbid"}, 0, 0}}).empty());
}

TEST_CASE("threads work as won in a duel, and all together against default XLA", "[tune]") {
  tune::FakeMeasurer measurer;
  const OptimizeReport report = with_threads({.active = 1.2, .half = 0.9, .one = 1.3}, measurer);
  CHECK(report.decisions == Decisions{kOne, kActive});
  REQUIRE(report.thread_options.size() == 2);
  CHECK(report.thread_options[0].key == kWaitPolicy);
  CHECK(report.thread_options[0].default_value == "passive");
  CHECK(report.thread_options[0].gain == Approx(1.2).epsilon(0.01));
  CHECK(report.thread_options[1].gain == Approx(1.3).epsilon(0.01));
  CHECK(report.guarded);
  CHECK(report.check.ratio == Approx(1.56).epsilon(0.01));
}

TEST_CASE("a winner of one process has to win in another, and the smaller gain counts", "[tune]") {
  const double in_another = GENERATE(1.1, 1.0);
  tune::FakeMeasurer measurer;
  const int before = measurer.processes;
  measurer.speed = [&](const Decisions& d) {
    return has(d, kActive)                 ? (measurer.processes == before ? 1.3 : in_another)
           : has(d, kOne) || has(d, kHalf) ? 0.9
                                           : 1;
  };
  Guard guard(measurer, 1, 300);
  guard.set_several_threads(true);
  const std::vector<DuelWinner> winners = guard.winners({}, thread_candidates(of_four_threads()), 100);
  CHECK(measurer.processes == before + 1);
  REQUIRE(winners.size() == (in_another > 1));
  if (!winners.empty()) CHECK(winners[0].measurement.ratio == Approx(in_another).epsilon(0.01));
}

TEST_CASE("with several threads most of three processes decide about all choices", "[tune]") {
  struct Case {
    std::vector<double> speeds;  // of the processes, from the first
    double ratio;
    int processes;
  };
  const auto c = GENERATE(Case{{1.3, 1.2, 9}, 1.2, 2}, Case{{0.3, 0.9, 9}, 0.3, 2}, Case{{0.3, 1.4, 1.3}, 1.3, 3},
                          Case{{1.4, 0.5, 0.8}, 0.5, 3});
  tune::FakeMeasurer measurer;
  const int before = measurer.processes;
  measurer.speed = [&](const Decisions& d) { return has(d, kActive) ? c.speeds.at(measurer.processes - before) : 1; };
  Guard guard(measurer, 1, 300);
  guard.set_several_threads(true);
  const tune::Measurement m = guard.check({kActive});
  CHECK(m.ok());
  CHECK(m.ratio == Approx(c.ratio).epsilon(0.01));
  CHECK(measurer.processes - before + 1 == c.processes);
}

TEST_CASE("where no other way wins, and without a guard, threads work as XLA's do", "[tune]") {
  tune::FakeMeasurer level, faster;
  const OptimizeReport report = with_threads({.active = 1.005, .half = 0.5, .one = 0.9}, level);
  CHECK(report.decisions.empty());
  CHECK_FALSE(report.guarded);
  CHECK(report.verified);
  CHECK(with_threads({.active = 2}, faster, 0).decisions.empty());
}

}  // namespace hone::optimize
