#include "collect/machine_collect.h"

#include "base/error.h"

namespace hone::collect {

MachineReport measure_machine(const std::string& shipped, Database& database, CollectMeasurer& measurer,
                              const std::function<void(const CollectProgress&)>& on_progress) {
  const Database from = Database::open(shipped, {.read_only = true});
  const std::vector<StoredKernelSummary> kernels = from.stored_kernels(/*threads=*/1);
  if (kernels.empty()) throw Error("no kernels to measure", shipped, "restore the file from the repository");
  const CollectOptions options{.kind = CollectKind::Fusion};
  const std::string host = measurer.host(), xla_version = measurer.xla_version();
  database.save_machine(host, features::to_json(measurer.machine()).dump());
  MachineReport report{.host = host, .kernels = static_cast<int64_t>(kernels.size())};
  for (const StoredKernelSummary& summary : kernels) {
    const auto kernel = from.find_stored_kernel(summary.fingerprint, /*threads=*/1);
    if (!kernel) throw InternalError("a listed kernel is not in the database");
    database.add_kernel(*kernel);
    const std::string& value = kernel->options.at(kernel->default_option);
    if (default_run_time(database.find_kernel(kernel->fingerprint, host, /*threads=*/1, xla_version), value)) {
      ++report.known;
      continue;
    }
    if (measurer.seconds_left() <= 0) {
      report.complete = false;
      continue;
    }
    on_progress({"measuring", report.known + report.measured + report.failed, report.kernels, kernel->name});
    const tune::Measurement m = measurer.measure(*kernel, value, options.careful, kernel->fingerprint);
    ++(m.ok() ? report.measured : report.failed);
  }
  return report;
}

}  // namespace hone::collect
