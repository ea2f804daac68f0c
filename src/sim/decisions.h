// The decisions about a graph: the device of each operation, the order of execution, and fusion.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/task_graph.h"

namespace hone::sim {

// One number per operation of the graph in each list, or an empty list for the default. Entries of inputs are ignored:
// parameters and constants are on every device that reads them.
struct Plan {
  std::vector<int32_t> device;  // index into Topology::devices; default: all on the first
  std::vector<int32_t>
      schedule;  // of the operations ready on a device the one with the highest value runs first; default:
                 // the one that became ready first. Ties: the one that is first in the graph.
  std::vector<int32_t> fusion;  // above 0: fuse into all consumers or none, highest first; 0: keep. Default: keep all.
  bool operator==(const Plan&) const = default;
};

// Throws Error when a list has another length than the graph, or a device does not exist.
void check_plan(const Plan& plan, const TaskGraph& graph, int32_t devices);

// What may be fused. Besides these limits: an operation is fused into all its consumers or not at all; all of them run on
// its device; results of the program, inputs, matrix products and opaque operations are never fused away; consumers are
// elementwise operations, moves and reductions, but not reduce-window. Every kernel therefore writes the result of one
// operation, and cycles cannot arise, since a fused producer is recomputed in each kernel that reads it.
// The last two limits are XLA's own and prevent exponential code growth: the code of an operation is generated once for every
// index at which its readers in the kernel access it (xla/service/fusion_node_indexing_evaluation.cc), and an operation whose
// code has loops or branches (reduce, concatenate, pad, dynamic-update-slice) joins a kernel of more than one operation only
// if a single reader accesses it at a single index (CodeDuplicationTooHigh there); broadcasts may always join.
struct FusionRules {
  int32_t max_ops = 64;        // distinct ones in one kernel; at most 64 when max_copies > 0
  double max_repeats = 1e9;    // evaluations of one operation inside one kernel
  int32_t max_copies = 15;     // of the code of one operation; 0: neither this limit nor the next applies
  int32_t max_reductions = 6;  // in one kernel (xla/service/cpu/cpu_instruction_fusion.cc)
};

// Properties of a graph that the rules need; independent of the plan.
struct FusionFacts {
  static constexpr uint8_t kProducer = 1, kConsumer = 2, kBroadcast = 4, kReduction = 8, kOpensBlock = 16;
  Neighbours consumers, producers;
  std::vector<uint8_t> flags;        // [ops]
  std::vector<uint8_t> keeps_index;  // [edges]: element i of the consumer reads element i of the producer
};
FusionFacts fusion_facts(const TaskGraph& graph);

// Kernels after fusion, in an order in which producers come before consumers. Flat arrays by kernel k.
struct Kernels {
  std::vector<int32_t> root;       // [kernels]: the operation whose result it writes
  std::vector<int32_t> kernel_of;  // [ops]: kernel that writes the operation's result; -1 when fused away or an input
  std::vector<int32_t> member_offset;  // [kernels + 1]
  std::vector<int32_t> member;         // operations computed in it, root included, ascending
  std::vector<double> evaluations;     // [members]: how often the kernel computes each of them
  std::vector<int32_t> read_offset;    // [kernels + 1]
  std::vector<int32_t> read;           // operations whose results it reads from memory, ascending
  std::vector<double> read_bytes;      // [reads]

  int32_t size() const { return static_cast<int32_t>(root.size()); }
};

// Fuses operations by descending Plan::fusion, ties from the last in the graph to the first, as XLA does; an operation whose
// fusion is not legal is kept. `devices` is the placement, empty for one device. The graph must be sorted.
Kernels fuse(const TaskGraph& graph, const std::vector<int32_t>& fusion, const std::vector<int32_t>& devices,
             const FusionRules& rules = {});
Kernels fuse(const TaskGraph& graph, const FusionFacts& facts, const std::vector<int32_t>& fusion,
             const std::vector<int32_t>& devices, const FusionRules& rules = {});

// Whether an operation can be fused away at all, and whether anything can be fused into it.
bool fusible_producer(const Op& op);
bool fusible_consumer(const Op& op);

}  // namespace hone::sim
