// Measures the kernels that come with Hone on this machine (cost/machine_kernels.h).
#pragma once

#include <functional>
#include <string>

#include "collect/collect.h"
#include "data/code_store.h"

namespace hone::collect {

struct MachineReport {
  std::string host;
  int64_t kernels = 0;   // that come with Hone
  int64_t known = 0;     // measured before
  int64_t measured = 0;  // now, soundly
  int64_t failed = 0;
  bool complete = true;  // false after an interrupt or at the end of the budget: the next call goes on
};

// Copies the kernels of the database `shipped` to `database` and measures the default option of those that have no row of this machine,
// with one thread; the machine's record is stored with them, and the code of each in `code`. Throws Error where `shipped` has no kernels.
struct MachineStores {
  Database& database;
  CodeStore& code;
};
MachineReport measure_machine(const std::string& shipped, const MachineStores& stores, CollectMeasurer& measurer,
                              const std::function<void(const CollectProgress&)>& on_progress);

}  // namespace hone::collect
