#include "cost/machine_kernels.h"

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/xla_version.h"
#include "data/database.h"
#include "data/default_run_time.h"

namespace hone::cost {

std::string machine_database() {
  const std::filesystem::path folder = user_data_folder();
  if (folder.empty())
    throw Error("there is no home folder for this machine's kernels", "XDG_DATA_HOME", "name a folder");
  return (folder / "machine.db").string();
}

std::string machine_code_folder() {
  return (std::filesystem::path(machine_database()).parent_path() / "machine-code").string();
}

MachineKernels measured_on(const std::string& database, const std::string& host) {
  MachineKernels found;
  if (!std::filesystem::exists(database)) return found;
  const Database measured = Database::open(database, {.read_only = true});
  for (const StoredKernelSummary& summary : measured.stored_kernels(/*threads=*/1)) {
    const auto stored = measured.find_stored_kernel(summary.fingerprint, /*threads=*/1);
    if (!stored) continue;
    const auto rows = measured.find_kernel(summary.fingerprint, host, /*threads=*/1, kXlaVersion);
    const auto ns = default_run_time(rows, stored->options.at(stored->default_option));
    if (!ns) continue;
    found.kernels.push_back(kernel_of(*stored));
    found.ns.push_back(*ns);
  }
  return found;
}

}  // namespace hone::cost
