// A program divided between equal devices by XLA's own sharding propagation and SPMD partitioner.
#pragma once
#include <string>
#include <vector>

#include "decisions/lower.h"

namespace hone::xla_side {

struct Partitioning {
  int partitions = 1;
  std::vector<std::pair<std::string, std::string>>
      shardings;  // of instructions of the entry computation, by name there
};

// A copy of the program with its calls inlined, and with these shardings and no others; parameters without one are replicated. Throws Error for unknown
// instructions, text that is no sharding, and shardings that do not divide their shape into equal parts.
std::unique_ptr<xla::HloModule> with_shardings(const xla::HloModule& program, const Partitioning& partitioning);

// XLA:CPU exchanges combined operands one by one. The second and later ones of an instruction are one more use, of no bytes.
struct CollectiveUse {
  std::string kind;          // "all-reduce"
  double bytes = 0;          // of its operands on one device
  std::vector<int> devices;  // one group of those that take part; on a mesh the others lie as it does
  double runs = 1;
};

struct Partitioned {
  Lowered lowered;  // of one device
  std::vector<CollectiveUse> collectives;
  double moved_bytes = 0;                        // by what is neither a kernel nor a collective
  int64_t peak_bytes = 0;                        // of XLA's buffer assignment
  std::vector<std::string> parameters, results;  // their shardings, completed
};

// Throws as with_shardings(), and StageError of passes.
Partitioned partition(const xla::HloModule& program, const CompileTarget& target, const Partitioning& partitioning);

}  // namespace hone::xla_side
