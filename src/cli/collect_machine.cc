#include "cli/collect_machine.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/text.h"
#include "collect/machine_collect.h"
#include "cost/run_time_model.h"
#include "cost/shipped.h"

namespace hone::cli {
namespace {

nlohmann::json to_json(const collect::MachineReport& r, const std::string& db,
                       const cost::CorrectionReport& correction) {
  return {{"db", db},
          {"host", r.host},
          {"kernels", r.kernels},
          {"known", r.known},
          {"measured", r.measured},
          {"failed", r.failed},
          {"complete", r.complete},
          {"interrupted", interrupted()},
          {"error", correction.error},
          {"corrected_error", correction.corrected_error},
          {"corrects", correction.corrects}};
}

void print_text(const collect::MachineReport& r, const cost::CorrectionReport& correction) {
  fmt::print("{}: {} of {} kernels measured, {} now; {} failed\n", r.host, r.known + r.measured, r.kernels, r.measured,
             r.failed);
  if (!r.complete) fmt::print("some are left: run the same command again to continue\n");
  if (correction.error > 0)
    fmt::print("the shipped model of run times errs by {:.0f} % on them, corrected by the others by {:.0f} %: {}\n",
               100 * std::expm1(correction.error), 100 * std::expm1(correction.corrected_error),
               correction.corrects ? "from now on its predictions here are corrected"
                                   : "it knows this machine, and is left as it is");
}

}  // namespace

int collect_machine(const MachineCommand& command) {
  const std::string shipped = cost::shipped_file("machine-kernels.db");
  if (shipped.empty()) throw RunError("the kernels to measure are missing", "machine-kernels.db", "see hone doctor");
  const std::string path = command.db.empty() ? cost::machine_database() : command.db;
  collect::CollectOptions options{.kind = collect::CollectKind::Fusion};
  options.max_isa = command.max_isa;
  options.validate();
  const double budget_s = parse_duration_s(command.budget, "--budget");
  Database database = open_database(path);
  CodeStore code(command.db.empty() ? cost::machine_code_folder() : command.db + "-code");
  collect::MachineReport report;
  {
    const auto measurer = collect::make_collect_measurer(database, options, budget_s, /*memory_limit_bytes=*/0);
    ProgressOptions shown;
    shown.quiet = command.output.quiet;
    std::unique_ptr<Progress> progress;
    report = collect::measure_machine(shipped, {database, code}, *measurer, [&](const collect::CollectProgress& p) {
      shown.total = static_cast<double>(p.total);
      if (!progress) progress = std::make_unique<Progress>(p.doing, shown);
      progress->update(static_cast<double>(p.done), p.program);
    });
  }
  const cost::CorrectionReport correction = cost::correction_of(path, report.host, command.max_isa);
  if (command.output.json)
    print(to_json(report, path, correction));
  else
    print_text(report, correction);
  return report.complete ? 0 : 1;
}

}  // namespace hone::cli
