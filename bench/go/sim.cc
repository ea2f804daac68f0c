// Scheduled operations of the simulator per second of CPU time, on random graphs of layers with a few long edges.
//   bench_sim [SECONDS PER ROW]
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "base/rng.h"
#include "sim/planners.h"

using namespace hone;

namespace {

sim::TaskGraph layered_graph(int32_t size, Rng& rng) {
  constexpr int32_t kWidth = 16;  // distance of most producers, as in programs
  constexpr double kFar = 0.05;   // share of edges from any earlier operation
  sim::TaskGraph graph;
  graph.name = "layers";
  for (int32_t i = 0; i < size; ++i) {
    sim::Op op;
    op.name = "op" + std::to_string(i);
    op.kind = i < kWidth ? sim::OpKind::Input : rng.uniform() < 0.2 ? sim::OpKind::Matrix : sim::OpKind::Elementwise;
    op.flops = 1e6 * (1 + rng.uniform());
    op.output_bytes = 1e4 * (1 + rng.uniform());
    graph.ops.push_back(op);
    if (i < kWidth) continue;
    std::vector<int32_t> from;
    for (int64_t k = 1 + rng.below(3); k > 0; --k)
      from.push_back(static_cast<int32_t>(rng.uniform() < kFar ? rng.below(i) : i - 1 - rng.below(kWidth)));
    std::sort(from.begin(), from.end());
    from.erase(std::unique(from.begin(), from.end()), from.end());
    for (int32_t producer : from) graph.edges.push_back({producer, i, 1});
  }
  return sim::sorted(std::move(graph));
}

sim::Topology pairs(int devices) {
  std::string toml = "[[device]]\nname = \"d\"\ncount = " + std::to_string(devices) +
                     "\nmemory_gib = 16\nmatrix_tflops = 10\nvector_tflops = 5\nmemory_gb_per_s = 700\nlaunch_us = 3\n";
  if (devices > 1) {
    toml += "[[link]]\ngb_per_s = 20\nlatency_us = 2\nbetween = [";
    for (int d = 0; d < devices; ++d) toml += "\"d" + std::to_string(d) + "\",";
    toml += "]\n";
  }
  return sim::parse_topology(toml, "bench");
}

double operations_per_second(sim::Simulator& simulator, const sim::Plan& plan, double seconds) {
  const auto cpu_seconds = [] {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  };  // others may share the core
  simulator.run(plan);
  const double start = cpu_seconds();
  double runs = 0, passed = 0;
  do {
    simulator.run(plan);
    ++runs;
    passed = cpu_seconds() - start;
  } while (passed < seconds);
  return runs * simulator.graph().size() / passed;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 0.5;
  fmt::print("| operations | edges | devices | plan | operations/s |\n|---|---|---|---|---|\n");
  for (int32_t size : {1000, 10000, 80000})
    for (int devices : {1, 4, 8}) {
      Rng rng(1);
      sim::Simulator simulator(layered_graph(size, rng), pairs(devices));
      sim::StrategyOptions options;
      options.tasks = {true, false, true};
      options.seed = 1;
      const auto row = [&](const char* name, const sim::Plan& plan) {
        fmt::print("| {} | {} | {} | {} | {:.2f} million |\n", size, simulator.graph().edges.size(), devices, name,
                   operations_per_second(simulator, plan, seconds) / 1e6);
      };
      row("layer-wise", sim::plan_layerwise(simulator, options));
      row("random placement and priorities", sim::plan_random(simulator, options));
      sim::Plan fused = sim::plan_layerwise(simulator, options);
      fused.fusion.assign(size, 1);
      row("layer-wise, all fused", fused);
    }
  return 0;
}
