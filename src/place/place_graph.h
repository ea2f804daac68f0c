// Converts lowered programs to the simulator's task graphs, and task graphs to and from JSON.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "graph/hlo_graph.h"
#include "sim/task_graph.h"

namespace hone::place {

// The cost of one run of an instruction by XLA's HloCostAnalysis.
struct InstructionCost {
  double flops = 0, transcendentals = 0, bytes_read = 0, bytes_written = 0;
};

struct GraphSources {
  std::map<std::string, InstructionCost> costs;  // by instruction; the others are counted here, by the same rules
  std::map<std::string, std::string> names;      // names of instructions before fusion, where they differ
  std::map<std::string, int64_t> trip_counts;    // of while loops, by instruction; the others count as kUnknownTrips
  bool whole_instructions = false;               // operations are called as their instructions
};
inline constexpr int64_t kUnknownTrips = 16;

// The entry computation of a module after XLA's passes without fusion. Parameters and constants become inputs, instructions
// that only name values (tuples, bitcasts) become edges, fusions of a single operation become that operation, loops and
// calls one opaque operation with the cost of all they run. An operation has the name of its instruction before fusion.
struct ProgramGraph {
  sim::TaskGraph graph;                   // sorted
  std::vector<std::string> instructions;  // [ops]: in the entry computation
};
ProgramGraph program_graph(const HloGraph& module, const GraphSources& sources);

// "multiply.12" -> "multiply.3": the names before fusion that a worker leaves in the text of a module lowered for its fusion
// edges (metadata op_type="@multiply.3").
std::map<std::string, std::string> names_before_fusion(const std::string& hlo);

// "while.3" -> 48 from the text of a module, where XLA knows it (backend_config known_trip_count).
std::map<std::string, int64_t> known_trip_counts(const std::string& hlo);

// {"name", "ops": [{"name", "opcode", "kind", "flops", "special", "output_bytes", "is_output", "written_bytes", "dims"}],
//  "edges": [[from, to, reads]]}; from and to are names or indices, reads may be left out. `what` is the file in errors.
// Throws Error (where = what, and the faulty entry) for text that is no such graph, unknown keys, and what sim::sorted
// refuses.
sim::TaskGraph read_task_graph(const std::string& text, const std::string& what);
nlohmann::json to_json(const sim::TaskGraph& graph);

}  // namespace hone::place
