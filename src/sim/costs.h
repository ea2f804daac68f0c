// What operations cost on a device: a roofline, corrected by what was measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/task_graph.h"
#include "sim/topology.h"

namespace hone::sim {

// Where the time of operations comes from. Without factors: a roofline of each device. A factor multiplies the roofline
// time (launch excluded) of an operation; in a fused kernel the factors of its members count by their share of the time.
struct Costs {
  std::vector<double> factor;  // [ops], or empty
};

// Of one operation as a kernel of its own, launch excluded: C + M - overlap * min(C, M), where C = computing (Matrix on the
// matrix units, special functions apart) and M = bytes of operands and result over the memory's speed.
double roofline_seconds(const TaskGraph& graph, int32_t op, const Device& device);
// Factors that make operations take `seconds` [ops] on the device, launch included; entries that are not positive keep 1.
Costs costs_from_seconds(const TaskGraph& graph, const Device& device, const std::vector<double>& seconds);

// Throws Error (where = `what`) when inputs and results of the program alone are larger than all memories of the topology.
void check_memory(const TaskGraph& graph, const Topology& topology, const std::string& what);

}  // namespace hone::sim
