// Small graphs and topologies for the simulator's tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "sim/simulator.h"

namespace hone::sim {

// A device on which an operation of `flops` takes that many seconds, moving data is free, and `memory` bytes fit.
inline Device unit_device(double memory = 1e18) {
  Device device;
  device.memory_bytes = memory;
  device.matrix_flops = device.vector_flops = device.special_per_second = 1;
  device.bytes_per_second = 1e30;
  device.overlap = 1;
  return device;
}

// Every pair is joined by links of one byte per second.
inline Topology unit_topology(int devices, double latency = 0, double memory = 1e18) {
  Topology topology;
  topology.name = "unit";
  topology.routes.resize(static_cast<size_t>(devices) * devices);
  for (int d = 0; d < devices; ++d) {
    topology.devices.push_back(unit_device(memory));
    topology.devices.back().name = "d" + std::to_string(d);
    for (int to = 0; to < devices; ++to) {
      if (to == d) continue;
      topology.routes[d * devices + to] = {static_cast<int32_t>(topology.links.size())};
      topology.links.push_back({"link", 1, latency});
    }
  }
  return topology;
}

inline Op an_op(const std::string& name, double seconds, double bytes = 0, OpKind kind = OpKind::Elementwise) {
  Op op;
  op.name = name;
  op.opcode = "add";
  op.kind = kind;
  op.flops = seconds;
  op.output_bytes = bytes;
  return op;
}

inline TaskGraph a_graph(std::vector<Op> ops, std::vector<std::pair<int, int>> edges) {
  TaskGraph graph;
  graph.name = "test";
  graph.ops = std::move(ops);
  for (const auto& [from, to] : edges) graph.edges.push_back({from, to, 1});
  return sorted(graph);
}

// Whole seconds and bytes, so that sums are exact.
inline TaskGraph random_graph(int size, Rng& rng, double density = 0.4) {
  std::vector<Op> ops;
  std::vector<std::pair<int, int>> edges;
  for (int i = 0; i < size; ++i)
    ops.push_back(
        an_op("op" + std::to_string(i), 1 + static_cast<double>(rng.below(9)), static_cast<double>(rng.below(5))));
  for (int a = 0; a < size; ++a)
    for (int b = a + 1; b < size; ++b)
      if (rng.uniform() < density) edges.emplace_back(a, b);
  return a_graph(std::move(ops), std::move(edges));
}

}  // namespace hone::sim
