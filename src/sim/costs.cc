#include <algorithm>
#include <string>

#include "base/error.h"
#include "sim/roofline.h"
#include "sim/simulator.h"

namespace hone::sim {

double overlapped(double compute, double memory, double overlap) {
  return compute + memory - overlap * std::min(compute, memory);
}

double compute_seconds(const Op& op, const Device& device) {
  return op.flops / (op.kind == OpKind::Matrix ? device.matrix_flops : device.vector_flops) +
         op.special / device.special_per_second;
}

double written_bytes(const Op& op) { return op.written_bytes < 0 ? op.output_bytes : op.written_bytes; }

std::vector<double> solo_read_bytes(const TaskGraph& graph) {
  std::vector<double> out(graph.ops.size(), 0);
  for (const Edge& edge : graph.edges) out[edge.to] += graph.ops[edge.from].output_bytes * std::min(1.0, edge.reads);
  return out;
}

double roofline_seconds(const Op& op, double read_bytes, const Device& device) {
  if (op.kind == OpKind::Input) return 0;
  return overlapped(compute_seconds(op, device), (read_bytes + written_bytes(op)) / device.bytes_per_second,
                    device.overlap);
}

double roofline_seconds(const TaskGraph& graph, int32_t op, const Device& device) {
  double read = 0;
  for (const Edge& edge : graph.edges)
    if (edge.to == op) read += graph.ops[edge.from].output_bytes * std::min(1.0, edge.reads);
  return roofline_seconds(graph.ops.at(op), read, device);
}

Costs costs_from_seconds(const TaskGraph& graph, const Device& device, const std::vector<double>& seconds) {
  if (seconds.size() != graph.ops.size())
    throw Error("there are " + std::to_string(seconds.size()) + " times for " + std::to_string(graph.ops.size()) +
                    " operations",
                graph.name);
  constexpr double kLeast = 0.02;  // of the roofline: a measured time below that is the clock's, not the kernel's
  const std::vector<double> read = solo_read_bytes(graph);
  Costs costs;
  costs.factor.assign(graph.ops.size(), 1);
  for (int32_t i = 0; i < graph.size(); ++i) {
    const double roofline = roofline_seconds(graph.ops[i], read[i], device);
    if (seconds[i] > 0 && roofline > 0)
      costs.factor[i] = std::max(kLeast, (seconds[i] - device.launch_seconds) / roofline);
  }
  return costs;
}

void check_memory(const TaskGraph& graph, const Topology& topology, const std::string& what) {
  double needed = 0;
  for (const Op& op : graph.ops)
    if (op.kind == OpKind::Input || op.is_output) needed += op.output_bytes;
  if (needed > topology.memory_bytes())
    throw Error("the program's inputs and results alone need more memory than all devices have", what,
                std::to_string(needed / (1 << 30)) + " GiB for " + std::to_string(topology.memory_bytes() / (1 << 30)) +
                    " GiB");
}

}  // namespace hone::sim
