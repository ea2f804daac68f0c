#include "sim/parameters.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/sim/graphs.h"

namespace hone::sim {

namespace {

// w (parameter) -> use -> gradient -> update of w, which is a result; x (parameter) -> use; c is a constant.
TaskGraph training_step() {
  TaskGraph graph =
      a_graph({an_op("w", 0, 6, OpKind::Input), an_op("x", 0, 2, OpKind::Input), an_op("c", 0, 5, OpKind::Input),
               an_op("use", 1, 2, OpKind::Matrix), an_op("gradient", 1, 6, OpKind::Matrix), an_op("update", 1, 6)},
              {{0, 3}, {1, 3}, {2, 3}, {3, 4}, {4, 5}, {0, 5}});
  graph.ops[5].is_output = true;
  graph.ops[2].opcode = "constant";
  return graph;
}

StepReport step(const TaskGraph& graph, Parameters parameters, std::vector<int32_t> device, double memory = 1e18) {
  Simulator simulator(graph, unit_topology(2, 0, memory), {}, {}, parameters);
  Plan plan;
  plan.device = std::move(device);
  return simulator.run(plan);
}

}  // namespace

TEST_CASE("an update is the nearest result of the same shape that elementwise operations compute", "[sim]") {
  TaskGraph graph = training_step();
  CHECK(parameter_updates(graph) ==
        std::vector<int32_t>{5, kNoUpdate, kNoParameter, kNoParameter, kNoParameter, kNoParameter});
  SECTION("not one that a matrix product computes") {
    graph.ops[5].kind = OpKind::Matrix;
    CHECK(parameter_updates(graph)[0] == kNoUpdate);
  }
  SECTION("not one of another size") {
    graph.ops[5].output_bytes = 7;
    CHECK(parameter_updates(graph)[0] == kNoUpdate);
  }
  SECTION("over other operations, but not beyond a result") {
    // m -> m2 (result) -> p2 (result) <- p, as the moments of an optimizer.
    graph = a_graph({an_op("m", 0, 4, OpKind::Input), an_op("p", 0, 4, OpKind::Input), an_op("decay", 1, 4),
                     an_op("m2", 1, 4), an_op("p2", 1, 4)},
                    {{0, 2}, {2, 3}, {3, 4}, {1, 4}});
    graph.ops[3].is_output = graph.ops[4].is_output = true;
    CHECK(parameter_updates(graph)[0] == 3);
    CHECK(parameter_updates(graph)[1] == 4);
  }
}

TEST_CASE("a parameter is sent once to every other device that reads it", "[sim]") {
  const TaskGraph graph = training_step();
  // All on one device: nothing is sent.
  CHECK(step(graph, Parameters::Home, {0, 0, 0, 0, 0, 0}).transferred_bytes == 0);
  CHECK(step(graph, Parameters::Home, {0, 0, 0, 0, 0, 0}).step_seconds == 3);
  // w lives with its update on device 1; "use" on device 0 waits 6 s for it, runs 1 s, its gradient (6 bytes) follows.
  const StepReport apart = step(graph, Parameters::Home, {0, 0, 0, 0, 0, 1});
  CHECK(apart.transferred_bytes == 6 + 6);
  CHECK(apart.step_seconds == 6 + 1 + 1 + 6 + 1);
  CHECK(step(graph, Parameters::Copied, {0, 0, 0, 0, 0, 1}).step_seconds == 1 + 1 + 6 + 1);
  // Two readers on one device share the transfer; entries of inputs in the plan do not matter.
  TaskGraph twice =
      a_graph({an_op("p", 0, 3, OpKind::Input), an_op("a", 1), an_op("b", 1), an_op("c", 1)}, {{0, 1}, {0, 2}, {0, 3}});
  const StepReport shared = step(twice, Parameters::Home, {1, 0, 1, 1});
  CHECK(shared.transferred_bytes == 3);
  CHECK(shared.step_seconds == 3 + 2);
}

TEST_CASE("a parameter takes memory where it lives and where it is read", "[sim]") {
  const TaskGraph graph = training_step();
  const StepReport r = step(graph, Parameters::Home, {0, 0, 0, 0, 0, 1});
  // Device 0: copies of w, x and c, the results of "use" and "gradient". Device 1: w, the copy of the gradient, the update.
  CHECK(r.peak_bytes == std::vector<double>{6 + 2 + 5 + 2 + 6, 6 + 6 + 6});
  CHECK_FALSE(step(graph, Parameters::Home, {0, 0, 0, 0, 0, 1}, 17).valid);
}

TEST_CASE("with homes a limited run gives what a whole run gives", "[sim]") {
  Rng rng(41);
  for (int round = 0; round < 100; ++round) {
    TaskGraph graph = random_graph(20, rng, 0.2);
    for (int i = 0; i < 20; ++i)
      if (rng.uniform() < 0.3) graph.ops[i].kind = OpKind::Input;
    std::erase_if(graph.edges, [&](const Edge& e) { return graph.ops[e.to].kind == OpKind::Input; });
    Simulator simulator(graph, unit_topology(3), {}, {}, Parameters::Home);
    Plan plan;
    for (int i = 0; i < 20; ++i) plan.device.push_back(static_cast<int32_t>(rng.below(3)));
    StepTrace trace;
    const StepReport whole = simulator.run(plan, &trace);
    CHECK(trace.runs.size() == static_cast<size_t>(whole.kernels));
    CHECK(simulator.run_within(plan, {whole.step_seconds, false}).step_seconds == whole.step_seconds);
    CHECK((whole.step_seconds == 0 ||
           std::isinf(simulator.run_within(plan, {whole.step_seconds * 0.99, false}).step_seconds)));
    Simulator copied(graph, unit_topology(3));
    CHECK(copied.run(plan).transferred_bytes <= whole.transferred_bytes);
  }
}

}  // namespace hone::sim
