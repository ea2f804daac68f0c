// Outputs compared on inputs of one kind, without times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/input_kind.h"
#include "tune/session/measurer.h"

namespace hone::tune {

struct OutputCheck {
  Outcome outcome = Outcome::RunFailed;
  std::string note = {};  // why it failed, or what the outputs say little by
  bool applies = true;    // false: the program has no inputs that this kind changes; nothing ran
  double max_error = 0;   // in units of the tolerance; at most 1 is equal; 1e300: finite in one alone
  int64_t elements = 0;   // of all outputs
  int64_t differing = 0;  // beyond the tolerance
  int64_t special = 0;    // of those, finite in one alone, or another NaN or infinity
  int output = -1;        // of the first difference; -1: none
  std::vector<int64_t> index = {};
  std::string expected = {}, found = {};  // its values
};

}  // namespace hone::tune
