#include "cost/machine_kernels.h"

#include <cmath>
#include <filesystem>
#include <system_error>

#include "base/files.h"
#include "base/xla_version.h"
#include "data/database.h"
#include "data/default_run_time.h"

namespace hone::cost {

std::string machine_database() {
  const std::filesystem::path folder = user_data_folder();
  return folder.empty() ? "" : (folder / "machine.db").string();
}

std::string machine_code_folder() {
  const std::filesystem::path folder = user_data_folder();
  return folder.empty() ? "" : (folder / "machine-code").string();
}

MachineKernels measured_on(const std::string& database, const std::string& host) {
  MachineKernels found;
  std::error_code unreadable;
  if (database.empty() || !std::filesystem::exists(database, unreadable)) return found;
  const Database measured = Database::open(database, {.read_only = true});
  const std::vector<StoredKernelSummary> summaries = measured.stored_kernels(/*threads=*/1);
  const auto rows_of = [&](const StoredKernelSummary& summary) {
    return measured.find_kernel(summary.fingerprint, host, /*threads=*/1, kXlaVersion);
  };
  UsualCore core;
  for (const StoredKernelSummary& summary : summaries) core.add(rows_of(summary));
  const double core_ns = core.ns();
  for (const StoredKernelSummary& summary : summaries) {
    const auto stored = measured.find_stored_kernel(summary.fingerprint, /*threads=*/1);
    if (!stored) continue;
    const auto ns = default_run_time(rows_of(summary), stored->options.at(stored->default_option), core_ns);
    if (!ns || !std::isfinite(*ns) || *ns <= 0) continue;
    found.kernels.push_back(kernel_of(*stored));
    found.ns.push_back(*ns);
  }
  return found;
}

}  // namespace hone::cost
