#include "sim/costs.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "sim/roofline.h"

namespace hone::sim {

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
  constexpr double kLeast = 0.02;  // of the roofline: measured times below that are timer noise
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
