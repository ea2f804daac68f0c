// Tunes a whole program: kernels, the program's own dimensions and fusion. Every candidate is measured against the best
// so far, and the result is confirmed against default XLA. The steps are a table at the top of program_tuner.cc.
#pragma once

#include <string>
#include <vector>

#include "tune/program/confirm.h"
#include "tune/program/tune_options.h"

namespace hone::tune {

// Returns default XLA or decisions that the final duels showed to be verified and at least as fast as default XLA.
// Throws RunError when default XLA itself cannot compile or run the program.
ProgramResult tune_program(Measurer& measurer, const TuneOptions& options);

// The names of the steps of a tune with these options, in their order.
std::vector<std::string> tune_step_names(const TuneOptions& options);

}  // namespace hone::tune
