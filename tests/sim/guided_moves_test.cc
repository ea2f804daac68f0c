// Moves as they are drawn, described and scored before any is simulated.
#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.h"
#include "sim/move_features.h"
#include "sim/move_scorer.h"
#include "tests/sim/reference.h"

namespace hone::sim {

namespace {

constexpr Tasks kEvery{true, true, true};
constexpr size_t kMoreTransfer = 3, kMoreFetch = 10, kLessFetch = 11, kOperations = 27,
                 kHome = 42;  // places in a MoveVector

// a -> b -> c on two devices, all on the first.
TaskGraph chain() { return a_graph({an_op("a", 1, 2), an_op("b", 1, 2), an_op("c", 1, 2)}, {{0, 1}, {1, 2}}); }

}  // namespace

TEST_CASE("a drawn move leaves the plan as it is, and is what apply() would have done", "[sim]") {
  Rng graphs(3);
  const TaskGraph graph = random_graph(40, graphs, 0.1);
  Simulator simulator(graph, unit_topology(4));
  Plan plan;
  BlockMoves moves(simulator, kEvery, plan, std::vector<int32_t>(graph.ops.size(), 0));
  StepTrace trace;
  simulator.run(plan, &trace);
  moves.focus(trace);
  Rng one(5), other(5);
  for (int i = 0; i < 20; ++i) {
    const Plan before = plan;
    const Move move = moves.drawn(one);
    CHECK(plan == before);
    moves.apply(other);
    const Plan changed = plan;
    CHECK_FALSE(move.changes.empty());
    moves.undo();
    moves.apply(move);
    CHECK(plan == changed);
  }
}

TEST_CASE("features say what a move transfers, and count its operations", "[sim]") {
  const TaskGraph graph = chain();
  Simulator simulator(graph, unit_topology(2));
  const Plan plan{.device = {0, 0, 0}, .schedule = {}, .fusion = {}};
  MoveFeatures features(simulator, plan);
  StepTrace trace;
  const double step = simulator.run(plan, &trace).step_seconds;
  features.look(trace, step);
  const auto moved = [&](std::initializer_list<int32_t> ops) {
    Move move;
    for (int32_t op : ops) move.changes.push_back({MoveChange::Device, op, 0, 1});
    return features.of(move, 0.5);
  };
  const MoveVector none = moved({}), middle = moved({1}), all = moved({0, 1, 2});
  for (const MoveVector& vector : {none, middle, all})
    for (float x : vector) CHECK(std::isfinite(x));
  CHECK(none[kMoreTransfer] == 0);
  CHECK(middle[kMoreTransfer] > 0);  // from a, and to c
  CHECK(all[kMoreTransfer] == 0);
  CHECK(middle[kOperations] == Approx(std::log1p(1.0) / 4));
  CHECK(all[kOperations] == Approx(std::log1p(3.0) / 4));
}

TEST_CASE("features say which parameters a move sends from their homes", "[sim]") {
  // w (parameter) -> use -> gradient -> update of w; x (parameter) -> use.
  TaskGraph graph =
      a_graph({an_op("w", 0, 6, OpKind::Input), an_op("x", 0, 2, OpKind::Input), an_op("use", 1, 2, OpKind::Matrix),
               an_op("gradient", 1, 6, OpKind::Matrix), an_op("update", 1, 6)},
              {{0, 2}, {1, 2}, {2, 3}, {3, 4}, {0, 4}});
  graph.ops[4].is_output = true;
  Plan plan{.device = {0, 0, 0, 0, 0}, .schedule = {}, .fusion = {}};
  const auto moved = [&](Parameters parameters, std::initializer_list<int32_t> ops, int32_t to) {
    Simulator simulator(graph, unit_topology(2), {}, {}, parameters);
    MoveFeatures features(simulator, plan);
    StepTrace trace;
    features.look(trace, simulator.run(plan, &trace).step_seconds);
    Move move;
    for (int32_t op : ops) move.changes.push_back({MoveChange::Device, op, plan.device[op], to});
    return features.of(move, 0.5);
  };
  const MoveVector use = moved(Parameters::Home, {2}, 1), update = moved(Parameters::Home, {4}, 1),
                   both = moved(Parameters::Home, {2, 4}, 1);
  CHECK(use[kHome] == 1);
  CHECK(use[kMoreFetch] > 0);                    // w lives with its update; x goes with its only reader
  CHECK(update[kMoreFetch] == use[kMoreFetch]);  // to the operation that stays
  CHECK(both[kMoreFetch] == 0);
  CHECK(use[kLessFetch] == 0);
  plan.device[2] = 1;
  CHECK(moved(Parameters::Home, {2}, 0)[kLessFetch] > 0);
  CHECK(moved(Parameters::Copied, {2}, 0)[kLessFetch] == 0);
  CHECK(moved(Parameters::Copied, {2}, 0)[kHome] == 0);
}

TEST_CASE("a scorer has the weights of its layers", "[sim]") {
  std::vector<float> weights(MoveScorer::kWeights, 0);
  weights.back() = 3;
  CHECK(MoveScorer(weights).score({}) == 3);
  weights.pop_back();
  CHECK_THROWS_AS(MoveScorer(weights), Error);
  MoveVector ones;
  ones.fill(1);
  CHECK(MoveScorer::shipped().score(ones) != MoveScorer::random(0).score(ones));
  CHECK(MoveScorer::random(0).score(ones) == MoveScorer::random(0).score(ones));
}

}  // namespace hone::sim
