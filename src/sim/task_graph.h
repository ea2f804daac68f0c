// A program for the simulator and the graph policies: operations that take time and memory, and the data flow between
// them. Plain arrays, free of HLO; place/place_graph.h makes one from a program or a JSON file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone::sim {

// The kind of an operation for the cost model and the fusion rules.
enum class OpKind : int8_t {
  Input = 0,    // parameters and constants: take no time; stay in the memory of every device that reads them
  Elementwise,  // one result per element, broadcasts and iota included
  Move,         // slices, transposes, concatenations, pads, copies, gathers: no arithmetic
  Reduce,
  Matrix,   // dots and convolutions; runs on the matrix units
  Control,  // loops, conditionals, calls: opaque, never fused
  Other     // sorts, scatters, custom calls, collectives, ...: never fused
};
inline constexpr int kOpKinds = 7;
const char* op_kind_name(OpKind kind);            // "input", "elementwise", ...
OpKind op_kind_from_name(std::string_view name);  // throws Error

struct Op {
  std::string name;    // unique; of the instruction
  std::string opcode;  // XLA's text: "dot", "broadcast"
  OpKind kind = OpKind::Elementwise;
  double flops = 0;           // of one evaluation of the whole result; a multiply-add is two
  double special = 0;         // results of exp, tanh, divide, ...: counted separately by XLA's cost analysis
  double output_bytes = 0;    // of the result
  bool is_output = false;     // part of the program's result: stays in memory to the end, is never fused away
  double written_bytes = -1;  // by one evaluation, loops inside included; below 0: output_bytes
  std::vector<int64_t> dims;  // of the result, for models
};

struct Edge {
  int32_t from = 0, to = 0;  // producer, consumer: indices into ops
  // How often one evaluation of the consumer's whole result reads each element of the producer, on average: 1 for
  // elementwise operations and reductions, the repeats of a broadcast, the kept part (< 1) of a slice. If fused, the producer
  // is computed that often.
  double reads = 1;
};

struct TaskGraph {
  std::string name;
  std::vector<Op> ops;
  std::vector<Edge> edges;  // each (from, to) at most once

  int32_t size() const { return static_cast<int32_t>(ops.size()); }
};

// Sorts operations so that producers come before consumers, and edges by (from, to); the sort is stable.
// All other functions in this folder expect graphs in that form. Throws Error (where = name of the graph
// and an operation on the cycle) for cyclic graphs, and for edges to operations that do not exist, duplicate edges,
// duplicate names, and amounts that are negative or not finite.
TaskGraph sorted(TaskGraph graph);

// Neighbours as compressed rows: those of node i are list[offset[i]] ... list[offset[i + 1] - 1]; `edge`: index of the edge.
struct Neighbours {
  std::vector<int32_t> offset, list, edge;
};
Neighbours consumers_of(const TaskGraph& graph);
Neighbours producers_of(const TaskGraph& graph);

}  // namespace hone::sim
