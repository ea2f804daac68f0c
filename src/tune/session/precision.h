// A program at lower precision beside the original.
#pragma once

#include <string>
#include <vector>

#include "graph/program_option.h"

namespace hone::tune {

// Differences from the program in f64, in multiples of an output's root mean square.
struct OutputPrecision {
  std::string shape;
  double largest = 0, mean = 0;
  double same_argmax = -1;                       // share of rows whose largest value is at the same place; -1: no rows
  double default_largest = 0, default_mean = 0;  // of default XLA on the original program
};

struct PrecisionReport {
  std::string kind;  // kBf16Weights or kInt8Weights; empty: the program's own precision
  int weights = 0, dots = 0;
  bool against_f64 = false;                         // false: against default XLA on the original program
  double original_ns = 0, tuned_ns = 0;             // default XLA on the original; what was tuned
  double ratio = 1, ratio_low = 1, ratio_high = 1;  // original over tuned
  std::vector<OutputPrecision> outputs;
};

}  // namespace hone::tune
