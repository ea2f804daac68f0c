#include "collect/machine_collect.h"

#include <spdlog/spdlog.h>

#include "base/error.h"
#include "wire/client.h"

namespace hone::collect {
namespace {

// Compiled once; what XLA does not compile by itself stays without code.
void keep_code(const StoredKernel& kernel, const CodeKey& key, CodeStore& store, CollectMeasurer& measurer) {
  if (store.find(key)) return;
  KernelCode code;
  try {
    code.objects = measurer.code(kernel);
  } catch (const wire::NoWorker&) {
    throw;
  } catch (const Error& e) {
    spdlog::debug("{}: no code: {}", kernel.name, e.what());
    code.compiled = false;
  }
  store.add(key, code);
}

}  // namespace

MachineReport measure_machine(const std::string& shipped, const MachineStores& stores, CollectMeasurer& measurer,
                              const std::function<void(const CollectProgress&)>& on_progress) {
  const Database from = Database::open(shipped, {.read_only = true});
  const std::vector<StoredKernelSummary> kernels = from.stored_kernels(/*threads=*/1);
  if (kernels.empty()) throw Error("no kernels to measure", shipped, "restore the file from the repository");
  const CollectOptions options{.kind = CollectKind::Fusion};
  const std::string host = measurer.host(), xla_version = measurer.xla_version();
  const features::MachineRecord machine = measurer.machine();
  stores.database.save_machine(host, features::to_json(machine).dump());
  MachineReport report{.host = host, .kernels = static_cast<int64_t>(kernels.size())};
  for (const StoredKernelSummary& summary : kernels) {
    const auto kernel = from.find_stored_kernel(summary.fingerprint, /*threads=*/1);
    if (!kernel) throw InternalError("a listed kernel is not in the database");
    stores.database.add_kernel(*kernel);
    const std::string& value = kernel->options.at(kernel->default_option);
    const auto rows = stores.database.find_kernel(kernel->fingerprint, host, /*threads=*/1, xla_version);
    const bool known = default_run_time(rows, value).has_value();
    report.known += known;
    if (known) continue;
    if (measurer.seconds_left() <= 0) {
      report.complete = false;
      continue;
    }
    on_progress({"measuring", report.known + report.measured + report.failed, report.kernels, kernel->name});
    keep_code(*kernel, {kernel->fingerprint, "", machine.isa, xla_version}, stores.code, measurer);
    const tune::Measurement m = measurer.measure(*kernel, value, options.careful, kernel->fingerprint);
    ++(m.ok() ? report.measured : report.failed);
  }
  return report;
}

}  // namespace hone::collect
