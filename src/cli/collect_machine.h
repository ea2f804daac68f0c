// hone collect machine.
#pragma once

#include <memory>
#include <string>

#include "cli/cli.h"

namespace hone::cli {

struct MachineCommand {
  std::string max_isa, budget = "5m";
  int64_t kernels = 0;  // 0 = all
  std::shared_ptr<OutputOptions> output;
};

void add_machine_options(CLI::App& app, MachineCommand& command);

// Measures kernels that come with Hone and prints what they say about the shipped models of run times. Exit code 1 after an
// interrupt or at the end of the budget.
int collect_machine(const MachineCommand& command);

}  // namespace hone::cli
