#include "sim/roofline.h"

#include <algorithm>

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

}  // namespace hone::sim
