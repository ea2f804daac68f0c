// The parts of a kernel's cost, from which the simulator computes the cost of fused kernels. All times in seconds.
#pragma once

#include <vector>

#include "sim/task_graph.h"
#include "sim/topology.h"

namespace hone::sim {

inline constexpr double kHostBytesMoved = 8e9;  // per second, by one core: copies of XLA:CPU read and write

// The time of computing and moving data when `overlap` of the shorter overlaps with the longer, as in XLA:GPU
// (xla/service/gpu/model/gpu_performance_model_base.h).
double overlapped(double compute, double memory, double overlap);
double compute_seconds(const Op& op, const Device& device);  // one evaluation of its whole result
double written_bytes(const Op& op);
// [ops]: operand bytes that each operation reads as a separate kernel; of a sliced operand only the slice.
std::vector<double> solo_read_bytes(const TaskGraph& graph);
double roofline_seconds(const Op& op, double read_bytes, const Device& device);  // 0 for inputs

}  // namespace hone::sim
