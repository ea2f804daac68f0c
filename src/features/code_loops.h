// The loops of a function's machine code and how often each runs, where that is a constant: registers and words of the stack are
// followed as constants, or as what they were when a loop's run began plus a constant. XLA's shapes are static, so that most are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "features/x86.h"

namespace hone::features {

inline constexpr double kUnknownRuns = 8;

// A load or store of a loop's body at an address that advances by `stride` in each run.
struct LoopAccess {
  size_t instruction = 0;
  bool known = false;  // the stride is
  int64_t stride = 0;  // bytes
  int group = 0;       // accesses of a loop with the same registers differ by constants
};

struct CodeLoop {
  size_t header = 0;  // its first instruction
  int parent = -1;    // the loop around it
  int depth = 1;
  bool innermost = true;
  bool known = false;          // how often it runs
  double runs = kUnknownRuns;  // for each run of the loop around it, at least 1
  double runs_in_all = kUnknownRuns;
  std::vector<LoopAccess> accesses = {};  // not of loops inside
};

struct CodeFlow {
  std::vector<Instruction> instructions;
  std::vector<uint64_t> offsets;  // of the instructions
  std::vector<CodeLoop> loops;    // outer ones before those inside
  std::vector<int> loop_of;       // of each instruction the innermost loop, or -1
  std::vector<double> runs_of;    // how often each instruction runs in one run of the function
  bool has_frame = false;         // a register holds the stack pointer of the function's beginning
  uint64_t undecoded_bytes = 0;   // at the end, after an instruction that could not be read
};

CodeFlow code_flow(std::span<const uint8_t> code);

}  // namespace hone::features
