// Kernels that come with Hone to be measured on a machine, and their run times there: what corrects models on machines that they have
// not learnt from. `hone collect machine` measures them, once.
#pragma once

#include <string>
#include <vector>

#include "graph/kernel.h"

namespace hone::cost {

// The database with those of this user's machines; empty where there is no home folder.
std::string machine_database();

// The folder beside it with their machine code (data/code_store.h).
std::string machine_code_folder();

// Fewer correct nothing.
inline constexpr size_t kLeastKernels = 20;

struct MachineKernels {
  std::vector<Kernel> kernels;
  std::vector<double> ns;  // of each
};

// The kernels of `database` that `host` (base/machine.h) has measured with one thread. None without such a file.
// Throws the errors of Database; run times that are not positive are left out.
MachineKernels measured_on(const std::string& database, const std::string& host);

}  // namespace hone::cost
