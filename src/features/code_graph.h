// Basic blocks of a function's machine code and its natural loops (Aho et al., "Compilers", 9.6): compilers put the blocks of a loop in
// any order, and its first one anywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "features/x86.h"

namespace hone::features {

struct CodeBlock {
  size_t first = 0, last = 0;  // instructions
  std::vector<int> next;       // blocks; of a conditional jump first the one it goes to
  std::vector<int> before;     // the other way round
};

struct BlockLoop {
  int header = 0;
  int parent = -1;           // loop around it
  std::vector<int> latches;  // blocks that go back to the header, ascending
  std::vector<char> has;     // [blocks]
};

struct CodeGraph {
  std::vector<CodeBlock> blocks;
  std::vector<int> order;        // blocks that can be reached, each after those that it is only reached by
  std::vector<BlockLoop> loops;  // outer ones before those inside
  std::vector<int> loop_of;      // of each block the innermost, or -1
};

// `offsets`: of the instructions, in bytes. The first one is where the function begins.
CodeGraph code_graph(std::span<const Instruction> instructions, std::span<const uint64_t> offsets);

// How often each block runs in one run of the function. `loop_runs`: of each loop, whenever it is entered; `taken`: of each block, the
// share of its runs in which the jump at its end is taken if neither way leaves a loop.
std::vector<double> block_runs(const CodeGraph& graph, std::span<const double> loop_runs,
                               std::span<const double> taken);

}  // namespace hone::features
