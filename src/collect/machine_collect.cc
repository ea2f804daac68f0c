#include "collect/machine_collect.h"

#include <spdlog/spdlog.h>

#include "base/error.h"
#include "wire/client.h"

namespace hone::collect {
namespace {

// Compiled once; what XLA does not compile by itself stays without code. A worker that died or was too slow may do better another time.
void keep_code(const StoredKernel& kernel, const CodeKey& key, CodeStore& store, CollectMeasurer& measurer) {
  if (store.find(key)) return;
  KernelCode code;
  try {
    code.objects = measurer.code(kernel);
  } catch (const wire::NoWorker&) {
    throw;
  } catch (const wire::WorkerFailure& died) {
    spdlog::debug("{}: no code: {}", kernel.name, died.what());
    return;
  } catch (const Error& e) {
    spdlog::debug("{}: no code: {}", kernel.name, e.what());
    code.compiled = false;
  }
  store.add(key, code);
}

class MachineCollection {
 public:
  // Stores the machine's record.
  MachineCollection(const MachineStores& stores, CollectMeasurer& measurer)
      : stores_(stores), measurer_(measurer), machine_(measurer.machine()), xla_version_(measurer.xla_version()) {
    stores_.database.save_machine(machine_.host, features::to_json(machine_).dump());
  }

  // False where no time is left.
  bool add(const StoredKernel& kernel, MachineReport& report) {
    if (measurer_.seconds_left() <= 0) return false;
    stores_.database.add_kernel(kernel);
    keep_code(kernel, {kernel.fingerprint, "", machine_.isa, xla_version_}, stores_.code, measurer_);
    const std::string& value = kernel.options.at(kernel.default_option);
    const auto rows = stores_.database.find_kernel(kernel.fingerprint, machine_.host, /*threads=*/1, xla_version_);
    if (default_run_time(rows, value)) {
      ++report.known;
      return true;
    }
    const tune::Measurement m = measurer_.measure(kernel, value, CollectOptions().careful, kernel.fingerprint);
    ++(m.ok() ? report.measured : report.failed);
    return true;
  }

 private:
  MachineStores stores_;
  CollectMeasurer& measurer_;
  features::MachineRecord machine_;
  std::string xla_version_;
};

}  // namespace

MachineReport measure_machine(const std::string& shipped, int64_t most, const MachineStores& stores,
                              CollectMeasurer& measurer,
                              const std::function<void(const CollectProgress&)>& on_progress) {
  const Database from = Database::open(shipped, {.read_only = true});
  const std::vector<StoredKernelSummary> kernels = from.stored_kernels(/*threads=*/1, /*program=*/"", most);
  if (kernels.empty()) throw Error("no kernels to measure", shipped, "restore the file from the repository");
  MachineReport report{.kernels = static_cast<int64_t>(kernels.size())};
  try {
    report.host = measurer.host();
    MachineCollection collection(stores, measurer);
    for (const StoredKernelSummary& summary : kernels) {
      const auto kernel = from.find_stored_kernel(summary.fingerprint, /*threads=*/1);
      if (!kernel) throw InternalError("a listed kernel is not in the database");
      on_progress(
          {"measuring", report.known + report.measured + report.failed, report.kernels, kernel->name, report.known});
      report.complete = collection.add(*kernel, report);
      if (!report.complete) break;
    }
  } catch (const tune::Stopped&) {  // what was measured is kept
    report.complete = false;
  }
  return report;
}

}  // namespace hone::collect
