// Task graphs and topologies small enough to be worked out, for tests of graph policies.
#pragma once

#include <string>

#include "base/rng.h"
#include "sim/simulator.h"

namespace hone::go_toys {

inline sim::Op op(const std::string& name, double flops, double bytes, sim::OpKind kind = sim::OpKind::Matrix) {
  sim::Op op;
  op.name = name;
  op.opcode = kind == sim::OpKind::Matrix ? "dot" : "add";
  op.kind = kind;
  op.flops = flops;
  op.output_bytes = bytes;
  op.dims = {static_cast<int64_t>(bytes / 4)};
  return op;
}

// Equal devices, a wire between every pair in each direction.
inline sim::Topology machine(int devices, double bytes_per_second = 1e10, double memory_bytes = 1e12) {
  sim::Topology topology;
  topology.name = "toy";
  for (int d = 0; d < devices; ++d)
    topology.devices.push_back({"d" + std::to_string(d), memory_bytes, 1e12, 1e11, 1e10, 1e12, 1e-6, 0.95});
  topology.routes.resize(devices * devices);
  for (int from = 0; from < devices; ++from)
    for (int to = 0; to < devices; ++to) {
      if (from == to) continue;
      topology.routes[from * devices + to] = {static_cast<int32_t>(topology.links.size())};
      topology.links.push_back({std::to_string(from) + "-" + std::to_string(to), bytes_per_second, 1e-6});
    }
  return topology;
}

// A source, `branches` chains of `length` operations, and a join; operations of 1e8 * weight flops, 1 kB results.
inline sim::TaskGraph fork_join(int branches, int length, uint64_t seed = 1) {
  sim::TaskGraph graph;
  graph.name = "fork_join";
  Rng rng(seed);
  graph.ops.push_back(op("source", 1e7, 1000));
  std::vector<int32_t> ends;
  for (int b = 0; b < branches; ++b) {
    int32_t last = 0;
    for (int i = 0; i < length; ++i) {
      const int32_t at = graph.size();
      graph.ops.push_back(op("b" + std::to_string(b) + "_" + std::to_string(i), 1e8 * (1 + rng.below(4)), 1000));
      graph.edges.push_back({last, at, 1});
      last = at;
    }
    ends.push_back(last);
  }
  const int32_t join = graph.size();
  graph.ops.push_back(op("join", 1e7, 1000));
  graph.ops.back().is_output = true;
  for (const int32_t end : ends) graph.edges.push_back({end, join, 1});
  return sim::sorted(std::move(graph));
}

}  // namespace hone::go_toys
