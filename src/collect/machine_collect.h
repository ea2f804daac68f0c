// Measures the kernels that come with Hone on this machine (cost/machine_kernels.h).
#pragma once

#include <functional>
#include <string>

#include "collect/collect.h"
#include "data/code_store.h"

namespace hone::collect {

struct MachineReport {
  std::string host;
  int64_t kernels = 0;   // to measure
  int64_t known = 0;     // measured before
  int64_t measured = 0;  // now, soundly
  int64_t failed = 0;
  bool complete = true;  // false after an interrupt or at the end of the budget: the next call goes on
};

struct MachineStores {
  Database& database;
  CodeStore& code;
};

// Copies the kernels of the database `shipped`, the first `most` (0 = all; the most important come first), and measures the default option
// of those that have no row of this machine, with one thread; the machine's record and the code of each are stored, too. Throws Error
// where `shipped` has no kernels.
MachineReport measure_machine(const std::string& shipped, int64_t most, const MachineStores& stores,
                              CollectMeasurer& measurer,
                              const std::function<void(const CollectProgress&)>& on_progress);

}  // namespace hone::collect
