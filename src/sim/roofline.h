// The parts of the cost of a kernel that the simulator puts together for fused ones. All times in seconds.
#pragma once

#include <vector>

#include "sim/task_graph.h"
#include "sim/topology.h"

namespace hone::sim {

// Computing and moving data, of which `overlap` of the shorter hides behind the longer, as XLA:GPU
// has it (xla/service/gpu/model/gpu_performance_model_base.h).
double overlapped(double compute, double memory, double overlap);
double compute_seconds(const Op& op, const Device& device);  // one evaluation of its whole result
double written_bytes(const Op& op);
// [ops]: bytes of its operands that each operation reads as a kernel of its own; parts of a sliced operand only.
std::vector<double> solo_read_bytes(const TaskGraph& graph);
double roofline_seconds(const Op& op, double read_bytes, const Device& device);  // 0 for inputs

}  // namespace hone::sim
