// Named sets of programs on which agents that order passes are compared, and files of results, whose claims are replayed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "passorder/pass_session.h"

namespace hone::passorder {

struct BenchmarkProgram {
  std::string name, file, sha256;  // file: with its folder; sha256: of its bytes
  int64_t instructions = 0;        // untouched
};

// data/benchmarks/NAME.json. A set never changes: another version has another name.
struct BenchmarkSet {
  std::string name;
  int64_t max_passes = 0;  // of one program
  std::vector<BenchmarkProgram> programs;
};

// `root`: the folder of the programs if the file names none of its own, which is relative to the file. Throws Error for a
// file that is no set, and for a set without a folder of its own if `root` is empty.
BenchmarkSet read_benchmark(const std::string& path, const std::string& root);
// Throws Error if the program's file is missing or has other bytes.
void check_benchmark_program(const BenchmarkProgram& program);

struct OrderClaim {
  std::string program;  // its name in the set
  std::vector<std::string> passes;
  int64_t instructions = 0;  // after the passes
};

// {"format": "hone-gym-result-1", "agent", "benchmark", "entries": [{"program", "passes", "instructions"}]}
struct GymResult {
  std::string file, agent, benchmark;
  std::vector<OrderClaim> claims;
};
GymResult read_gym_result(const std::string& path);  // throws Error

struct Standing {
  std::string file, agent, benchmark;
  int64_t programs = 0, right = 0;    // of the set; those whose claim was confirmed
  double reduction = 1, removed = 0;  // geometric mean of instructions before / after; mean share removed
  std::vector<std::string> problems;  // claims that were not confirmed and why; such a program counts as untouched
};

// Runs the passes of every claim. A claim holds if the program is in the set, named once, and its passes are of the default
// action set, not more than allowed, and lead to the claimed number of instructions. Throws Error for another set's result,
// for missing programs, and where an untouched program has another number of instructions than the set says.
Standing replay(const GymResult& result, const BenchmarkSet& set, PassSession& session);

}  // namespace hone::passorder
