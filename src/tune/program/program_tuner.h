// Tunes a whole program: kernels, the program's own dimensions and fusion. Every step is a duel against the best so far, and
// the last word is a duel against default XLA. The steps stand in a table at the top of program_tuner.cc.
#pragma once

#include <string>
#include <vector>

#include "tune/program/confirm.h"
#include "tune/program/tune_options.h"

namespace hone::tune {

// Throws RunError when default XLA itself cannot compile or run the program. Never returns a result that the final duels
// did not show to be at least as fast as default XLA and verified, unless it is default XLA itself.
ProgramResult tune_program(Measurer& measurer, const TuneOptions& options);

// The names of the steps that such a tune takes, in their order.
std::vector<std::string> tune_step_names(const TuneOptions& options);

}  // namespace hone::tune
