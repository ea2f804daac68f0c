// hone collect machine.
#pragma once

#include <string>

#include "cli/cli.h"

namespace hone::cli {

struct MachineCommand {
  std::string db, max_isa, budget = "5m";
  OutputOptions output;
};

// Measures the kernels that come with Hone and prints what they say about the shipped model of run times. Exit code 1 after an
// interrupt or at the end of the budget.
int collect_machine(const MachineCommand& command);

}  // namespace hone::cli
