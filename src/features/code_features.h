// A kernel's machine code as numbers for a cost model (code_features.def): what is there, how often it runs, and how long it would
// take on a core with all data in the first-level cache.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "features/elf.h"
#include "features/x86.h"

namespace hone::features {

struct CodeSummary {
  struct Loop {
    double cycles = 0, body_cycles = 0, runs = 0, instructions = 0;
    int vector_bits = 0, depth = 0;
  };

  int objects = 0, functions = 0, loops = 0, unknown_loops = 0, loop_depth = 0;
  double code_bytes = 0, instructions = 0;  // that are there
  // Each as often as it runs.
  std::array<double, kCodeKinds> kinds = {};
  std::array<double, 4> arithmetic = {};  // on one element, 128, 256 and 512 bits
  double runs = 0, loads = 0, stores = 0, stack_loads = 0, spills = 0, loop_entries = 0;
  double fixed_accesses = 0, near_accesses = 0, far_accesses = 0, unknown_accesses = 0, line_bytes = 0,
         largest_step = 0;
  double math_calls = 0, memory_calls = 0, other_calls = 0;
  double cycles = 0, pipe_cycles = 0, front_cycles = 0, chain_cycles = 0, load_cycles = 0, divide_cycles = 0;
  double unknown_cycles = 0;
  Loop busiest;
};

// Of a kernel's ELF objects for x86-64; all zeros without any, for kernels that libraries run. A function that others of the object
// call counts as often as they do. Throws Error for what is no such object.
CodeSummary summary_of_code(const std::vector<std::string>& objects);

// The same of one object's functions.
void add_functions(std::span<const ObjectFunction> functions, CodeSummary& summary);

const std::vector<std::string>& code_feature_names();
// As many as there are names.
std::vector<float> code_features(const CodeSummary& summary);

}  // namespace hone::features
