// The run time of operations on a device: a roofline, corrected by measurements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/task_graph.h"
#include "sim/topology.h"

namespace hone::sim {

// Correction factors of the roofline. A factor multiplies the roofline time (launch excluded) of an operation; a fused kernel
// takes the mean of its members' factors, weighted by their share of the time. Without factors: the roofline alone.
struct Costs {
  std::vector<double> factor;  // [ops], or empty
};

// Time of one operation as a separate kernel, launch excluded: C + M - overlap * min(C, M), where C = computing (Matrix on the
// matrix units, special functions separately) and M = bytes of operands and result / memory bandwidth.
double roofline_seconds(const TaskGraph& graph, int32_t op, const Device& device);
// Factors that make operations take `seconds` [ops] on the device, launch included; entries that are not positive keep 1.
Costs costs_from_seconds(const TaskGraph& graph, const Device& device, const std::vector<double>& seconds);

// Throws Error (where = `what`) when inputs and results of the program alone are larger than all memories of the topology.
void check_memory(const TaskGraph& graph, const Topology& topology, const std::string& what);

}  // namespace hone::sim
