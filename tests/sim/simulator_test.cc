#include "sim/simulator.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "base/error.h"
#include "tests/sim/reference.h"

namespace hone::sim {

namespace {

std::vector<int32_t> random_placement(int32_t size, int devices, Rng& rng) {
  std::vector<int32_t> out;
  for (int32_t i = 0; i < size; ++i) out.push_back(static_cast<int32_t>(rng.below(devices)));
  return out;
}

// Peak memory from the trace only: the live interval of each value.
std::vector<double> peaks_of(const Simulator& simulator, const StepTrace& trace) {
  struct Change {
    double time;
    double bytes;
  };
  const TaskGraph& graph = simulator.graph();
  std::vector<std::vector<Change>> changes(simulator.topology().size());
  std::map<int32_t, KernelRun> run_of;
  for (const KernelRun& run : trace.runs) run_of[trace.kernels.root[run.kernel]] = run;
  for (int32_t op = 0; op < graph.size(); ++op) {
    const double bytes = graph.ops[op].output_bytes;
    std::map<int32_t, double> last_read;  // by device
    for (int32_t k = 0; k < trace.kernels.size(); ++k)
      for (int32_t i = trace.kernels.read_offset[k]; i < trace.kernels.read_offset[k + 1]; ++i)
        if (trace.kernels.read[i] == op) {
          const KernelRun& reader = run_of.at(trace.kernels.root[k]);
          last_read[reader.device] = std::max(last_read[reader.device], reader.end);
        }
    if (graph.ops[op].kind == OpKind::Input) {
      for (const auto& [device, end] : last_read) changes[device].push_back({-1, bytes});
      continue;
    }
    if (!run_of.count(op)) continue;  // fused away
    const KernelRun& writer = run_of.at(op);
    double end = std::max(writer.end, last_read.count(writer.device) ? last_read[writer.device] : 0.0);
    for (const TransferRun& t : trace.transfers) {
      if (t.op != op) continue;
      end = std::max(end, t.end);
      changes[t.to].push_back({writer.end, bytes});
      changes[t.to].push_back({last_read.at(t.to), -bytes});
    }
    changes[writer.device].push_back({writer.start, bytes});
    if (!graph.ops[op].is_output) changes[writer.device].push_back({end, -bytes});
  }
  std::vector<double> peaks;
  for (auto& list : changes) {
    std::stable_sort(list.begin(), list.end(), [](const Change& a, const Change& b) {
      return a.time != b.time ? a.time < b.time : a.bytes < b.bytes;  // memory is freed first
    });
    double now = 0, peak = 0;
    for (const Change& change : list) peak = std::max(peak, now += change.bytes);
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace

TEST_CASE("a step computed by hand", "[sim]") {
  // a: 2 s and 3 bytes. b (1 s) reads it on the same device, c (4 s) on the other after 3 s of transfer. d (1 s) needs both:
  // c's 2 bytes come back in 2 s.
  TaskGraph graph = a_graph({an_op("a", 2, 3), an_op("b", 1, 1), an_op("c", 4, 2), an_op("d", 1, 5)},
                            {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  graph.ops[3].is_output = true;
  Simulator simulator(graph, unit_topology(2));
  StepTrace trace;
  const StepReport r = simulator.run({{0, 0, 1, 0}, {}, {}}, &trace);
  CHECK(r.step_seconds == 2 + 3 + 4 + 2 + 1);
  CHECK(r.busy_seconds == std::vector<double>{4, 4});
  CHECK(r.link_seconds == std::vector<double>{3, 2});
  CHECK(r.transferred_bytes == 5);
  CHECK(r.kernels == 4);
  CHECK(r.valid);
  // Device 0: a and b together, later b, c's copy and d. Device 1: a's copy and c.
  CHECK(r.peak_bytes == std::vector<double>{8, 5});
  std::vector<std::string> path;
  for (int32_t k : trace.critical_path) path.push_back(graph.ops[trace.kernels.root[k]].name);
  CHECK(path == std::vector<std::string>{"a", "c", "d"});
  CHECK(simulator.run({}).step_seconds == 8);
}

TEST_CASE("devices that are threads copy for themselves, in segments", "[sim]") {
  // As above. a begins a segment. b follows at once, but c needs a, so b is a segment of its own, which the next operation of its device pays.
  TaskGraph graph = a_graph({an_op("a", 2, 3), an_op("b", 1, 1), an_op("c", 4, 2), an_op("d", 1, 5)},
                            {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  Topology topology = unit_topology(2);
  topology.threads = HostThreads{.segment_seconds = 10, .wake_seconds = 100};
  Simulator simulator(graph, topology);
  StepTrace trace;
  const StepReport r = simulator.run({{0, 0, 1, 0}, {}, {}}, &trace);
  const double a = 10 + 2, c = 3 + 100 + 10 + 4, d = 2 + 100 + 10 + 10 + 1;
  CHECK(r.step_seconds == a + c + d);
  CHECK(r.busy_seconds == std::vector<double>{a + 1 + d, c});
  CHECK(r.link_seconds == std::vector<double>{3, 2});
  CHECK(simulator.run({}).step_seconds == 10 + 8);
  REQUIRE(trace.transfers.size() == 2);
  CHECK(trace.transfers[0].start == a);
}

TEST_CASE("a thread copies a value once, and does not wait for what is there", "[sim]") {
  // e keeps the second device busy until a is there; b and c then read it in one segment.
  TaskGraph graph = a_graph({an_op("a", 2, 3), an_op("e", 50), an_op("b", 1), an_op("c", 1)}, {{0, 2}, {0, 3}, {1, 2}});
  Topology topology = unit_topology(2);
  topology.threads = HostThreads{.segment_seconds = 10, .wake_seconds = 100};
  const StepReport r = Simulator(graph, topology).run({{0, 1, 1, 1}, {}, {}});
  CHECK(r.transferred_bytes == 3);
  CHECK(r.step_seconds == 10 + 50 + 3 + 10 + 1 + 1);
}

TEST_CASE("a limit decides as the whole simulation does where devices are threads", "[sim]") {
  Rng rng(7);
  Topology topology = unit_topology(3, 2);
  topology.threads = HostThreads{.segment_seconds = 3, .wake_seconds = 5};
  for (int i = 0; i < 50; ++i) {
    Simulator simulator(random_graph(20, rng), topology);
    const Plan plan{random_placement(simulator.graph().size(), 3, rng), {}, {}};
    const double seconds = simulator.run(plan).step_seconds;
    CHECK(simulator.run_within(plan, {.seconds = seconds}).step_seconds == seconds);
    CHECK(std::isinf(simulator.run_within(plan, {.seconds = seconds - 0.5}).step_seconds));
  }
}

TEST_CASE("memory that does not suffice makes a plan invalid, not slow", "[sim]") {
  const TaskGraph graph =
      a_graph({an_op("w", 0, 6, OpKind::Input), an_op("a", 2, 3), an_op("b", 1, 1)}, {{0, 1}, {1, 2}});
  CHECK(Simulator(graph, unit_topology(1, 0, 10)).run({}).valid);
  const StepReport r = Simulator(graph, unit_topology(1, 0, 9)).run({});
  CHECK_FALSE(r.valid);
  CHECK(r.peak_bytes[0] == 10);
  CHECK(r.step_seconds == 3);
}

TEST_CASE("a program larger than all memories is refused", "[sim]") {
  const TaskGraph graph = a_graph({an_op("w", 0, 60, OpKind::Input), an_op("a", 2, 3)}, {{0, 1}});
  CHECK_NOTHROW(check_memory(graph, unit_topology(2, 0, 30), "p"));
  CHECK_THROWS_AS(check_memory(graph, unit_topology(2, 0, 29), "p"), Error);
}

TEST_CASE("a kernel's time is the roofline's", "[sim]") {
  TaskGraph graph =
      a_graph({an_op("x", 0, 100, OpKind::Input), an_op("dot", 200, 50, OpKind::Matrix), an_op("exp", 30, 60)},
              {{0, 1}, {1, 2}});
  graph.ops[2].special = 8;
  Topology topology = unit_topology(1);
  Device& device = topology.devices[0];
  device.matrix_flops = 100;
  device.vector_flops = 10;
  device.special_per_second = 4;
  device.bytes_per_second = 50;
  device.launch_seconds = 0.25;
  device.overlap = 0.5;
  // dot: 2 s computing, 150 bytes = 3 s, half of the shorter hidden; exp: 3 + 2 s, 110 bytes = 2.2 s.
  CHECK(roofline_seconds(graph, 1, device) == Approx(2 + 3 - 1));
  CHECK(roofline_seconds(graph, 2, device) == Approx(5 + 2.2 - 1.1));
  Simulator simulator(graph, topology);
  CHECK(simulator.run({}).step_seconds == Approx(4 + 6.1 + 0.5));
  CHECK(simulator.op_seconds(1, 0) == Approx(4.25));
  // Measured times are reproduced, launch included.
  const Costs costs = costs_from_seconds(graph, device, {0, 9, 3});
  CHECK(costs.factor[0] == 1);
  Simulator measured(graph, topology, costs);
  CHECK(measured.op_seconds(1, 0) == Approx(9));
  CHECK(measured.run({}).step_seconds == Approx(12));
}

TEST_CASE("fused kernels move only their inputs and results", "[sim]") {
  // Two elementwise operations: separately they move 4 arrays, fused 2.
  TaskGraph graph =
      a_graph({an_op("x", 0, 100, OpKind::Input), an_op("a", 0, 100), an_op("b", 0, 100)}, {{0, 1}, {1, 2}});
  Topology topology = unit_topology(1);
  topology.devices[0].bytes_per_second = 100;
  topology.devices[0].launch_seconds = 0.5;
  Simulator simulator(graph, topology, {{1, 2, 4}});
  CHECK(simulator.run({}).step_seconds == Approx(0.5 + 2 * 2 + 0.5 + 2 * 4));
  // Both have the same share of the time: the factor is the mean.
  CHECK(simulator.run({{}, {}, {0, 1, 0}}).step_seconds == Approx(0.5 + 2 * 3));
}

TEST_CASE("priorities order ready kernels", "[sim]") {
  const TaskGraph graph = a_graph({an_op("a", 1), an_op("b", 2), an_op("c", 3)}, {});
  Simulator simulator(graph, unit_topology(1));
  StepTrace trace;
  const auto order = [&](std::vector<int32_t> schedule) {
    simulator.run({{}, std::move(schedule), {}}, &trace);
    std::string names;
    for (const KernelRun& run : trace.runs) names += graph.ops[trace.kernels.root[run.kernel]].name;
    return names;
  };
  CHECK(order({}) == "abc");
  CHECK(order({1, 3, 2}) == "bca");
  CHECK(order({5, 5, 5}) == "abc");
  CHECK(order({-7, 0, 2000000000}) == "cba");
}

TEST_CASE("one link carries one transfer at a time", "[sim]") {
  // a and b end at once on different devices, but share the bus to the third.
  TaskGraph graph = a_graph({an_op("a", 1, 4), an_op("b", 1, 4), an_op("c", 1)}, {{0, 2}, {1, 2}});
  Topology topology = unit_topology(3);
  CHECK(Simulator(graph, topology).run({{0, 1, 2}, {}, {}}).step_seconds == 1 + 4 + 1);
  topology.links.assign(1, {"bus", 1, 0.5});
  for (auto& route : topology.routes)
    if (!route.empty()) route = {0};
  CHECK(Simulator(graph, topology).run({{0, 1, 2}, {}, {}}).step_seconds == 1 + 4.5 + 4.5 + 1);
}

TEST_CASE("the step time is that of the slow reference on random graphs", "[sim]") {
  Rng rng(3);
  for (int round = 0; round < 200; ++round) {
    const int devices = 1 + static_cast<int>(rng.below(4));
    const TaskGraph graph = random_graph(2 + static_cast<int>(rng.below(30)), rng, 0.02 + 0.3 * rng.uniform());
    const Topology topology = unit_topology(devices, static_cast<double>(rng.below(3)));
    Plan plan;
    plan.device = random_placement(graph.size(), devices, rng);
    for (int32_t i = 0; i < graph.size(); ++i) plan.schedule.push_back(static_cast<int32_t>(rng.below(1000000)));
    Simulator simulator(graph, topology);
    const double expected = Reference(graph, topology, plan.device).run([&](int, const std::vector<int>& ready) {
      size_t best = 0;
      for (size_t i = 1; i < ready.size(); ++i)
        if (plan.schedule[ready[i]] > plan.schedule[ready[best]]) best = i;
      return best;
    });
    CHECK(simulator.run(plan).step_seconds == expected);
    CHECK(simulator.run(plan).step_seconds == expected);  // with the buffers of the previous run
  }
}

TEST_CASE("the best order of up to eight operations is the brute-force scheduler's", "[sim]") {
  Rng rng(11);
  for (int round = 0; round < 60; ++round) {
    const int size = round < 50 ? 2 + static_cast<int>(rng.below(5)) : round < 58 ? 7 : 8;
    const TaskGraph graph = random_graph(size, rng, 0.15 + 0.3 * rng.uniform());
    const Topology topology = unit_topology(2, static_cast<double>(rng.below(2)));
    Plan plan;
    plan.device = random_placement(size, 2, rng);
    plan.schedule.resize(size);
    std::iota(plan.schedule.begin(), plan.schedule.end(), 0);
    Simulator simulator(graph, topology);
    double least = std::numeric_limits<double>::infinity();
    do least = std::min(least, simulator.run(plan).step_seconds);
    while (std::next_permutation(plan.schedule.begin(), plan.schedule.end()));
    CHECK(least == Reference(graph, topology, plan.device).best());
  }
}

TEST_CASE("peak memory agrees with the live intervals of all values", "[sim]") {
  Rng rng(5);
  for (int round = 0; round < 150; ++round) {
    const int devices = 1 + static_cast<int>(rng.below(3));
    TaskGraph graph = random_graph(3 + static_cast<int>(rng.below(25)), rng, 0.25);
    std::vector<uint8_t> is_read(graph.ops.size(), 0);
    for (const Edge& edge : graph.edges) is_read[edge.to] = 1;
    for (int32_t i = 0; i < graph.size(); ++i) {
      Op& op = graph.ops[i];
      op.flops = 0.5 + rng.uniform();  // no simultaneous events
      op.output_bytes = 1 + static_cast<double>(rng.below(50));
      if (!is_read[i] && rng.uniform() < 0.5) op.kind = OpKind::Input;
      op.is_output = rng.uniform() < 0.2 && op.kind != OpKind::Input;
    }
    Simulator simulator(graph, unit_topology(devices));
    Plan plan;
    plan.device = random_placement(graph.size(), devices, rng);
    for (int32_t i = 0; i < graph.size(); ++i) plan.fusion.push_back(static_cast<int32_t>(rng.below(2)));
    StepTrace trace;
    const StepReport r = simulator.run(plan, &trace);
    const std::vector<double> expected = peaks_of(simulator, trace);
    for (int d = 0; d < devices; ++d) CHECK(r.peak_bytes[d] == Approx(expected[d]));
    CHECK(trace.runs.back().end <= r.step_seconds);
    CHECK(trace.runs.size() == static_cast<size_t>(r.kernels));
  }
}

TEST_CASE("a limited run gives up on plans beyond the limit, and on no other", "[sim]") {
  Rng rng(31);
  int within = 0, beyond = 0;
  for (int round = 0; round < 300; ++round) {
    TaskGraph graph = random_graph(5 + static_cast<int>(rng.below(30)), rng, 0.2);
    Simulator simulator(graph, unit_topology(3, 0.1, 12));
    Plan plan;
    plan.device = random_placement(graph.size(), 3, rng);
    if (round % 2 == 0)
      for (int32_t i = 0; i < graph.size(); ++i) plan.fusion.push_back(static_cast<int32_t>(rng.below(2)));
    const StepReport whole = simulator.run(plan);
    const double limit = whole.step_seconds * (0.9 + 0.2 * rng.uniform());
    const StepReport limited = simulator.run_within(plan, {limit, false});
    if (whole.step_seconds <= limit) {
      CHECK(limited.step_seconds == whole.step_seconds);
      CHECK(limited.peak_bytes == whole.peak_bytes);
      CHECK(limited.valid == whole.valid);
      ++within;
    } else {
      CHECK(std::isinf(limited.step_seconds));
      CHECK_FALSE(limited.valid);
      ++beyond;
    }
    CHECK(simulator.run_within(plan, {whole.step_seconds, false}).step_seconds == whole.step_seconds);
    const StepReport fitting = simulator.run_within(plan, {whole.step_seconds, true});
    CHECK(fitting.valid == whole.valid);
    CHECK(std::isinf(fitting.step_seconds) == !whole.valid);
  }
  CHECK(within > 100);
  CHECK(beyond > 100);
}

TEST_CASE("plans and graphs that do not fit are refused", "[sim]") {
  const TaskGraph graph = a_graph({an_op("a", 1), an_op("b", 1)}, {{0, 1}});
  Simulator simulator(graph, unit_topology(2));
  CHECK_THROWS_AS(simulator.run({{0}, {}, {}}), Error);
  CHECK_THROWS_AS(simulator.run({{0, 2}, {}, {}}), Error);
  CHECK_THROWS_AS(simulator.run({{0, -1}, {}, {}}), Error);
  CHECK_THROWS_AS(simulator.run({{}, {1, 2, 3}, {}}), Error);
  CHECK_THROWS_AS(Simulator(graph, Topology{}), Error);
  CHECK_THROWS_AS(Simulator(graph, unit_topology(1), {{1.0}}), Error);
  CHECK_THROWS_AS(Simulator(graph, unit_topology(1), {{1.0, 0.0}}), Error);
  TaskGraph backwards = graph;
  std::swap(backwards.edges[0].from, backwards.edges[0].to);
  CHECK_THROWS_AS(Simulator(backwards, unit_topology(1)), Error);
}

}  // namespace hone::sim
