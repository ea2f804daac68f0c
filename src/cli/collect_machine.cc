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

nlohmann::json to_json(const cost::LeafCorrection::Verdict& verdict) {
  return {{"error", verdict.error}, {"corrected_error", verdict.held_out_error}, {"corrects", verdict.helps}};
}

nlohmann::json to_json(const collect::MachineReport& r, const cost::MachineVerdicts& verdicts) {
  return {{"db", cost::machine_database()},
          {"host", r.host},
          {"kernels", r.kernels},
          {"known", r.known},
          {"measured", r.measured},
          {"failed", r.failed},
          {"complete", r.complete},
          {"interrupted", interrupted()},
          {"before_compiling", to_json(verdicts.before_compiling)},
          {"by_code", to_json(verdicts.by_code)}};
}

void print_verdict(const char* model, const cost::LeafCorrection::Verdict& verdict) {
  if (verdict.error == 0) return;
  fmt::print("run times {} are off by {:.0f} % on these kernels, corrected by the others by {:.0f} %: {}\n", model,
             100 * std::expm1(verdict.error), 100 * std::expm1(verdict.held_out_error),
             verdict.helps ? "predictions on this machine are corrected" : "not enough to correct them");
}

void print_text(const collect::MachineReport& r, const cost::MachineVerdicts& verdicts) {
  fmt::print("{}: {} of {} kernels measured, {} now; {} failed\n", r.host, r.known + r.measured, r.kernels, r.measured,
             r.failed);
  if (!r.complete) fmt::print("some are left: run the same command again to continue\n");
  print_verdict("predicted before compiling", verdicts.before_compiling);
  print_verdict("predicted by the code", verdicts.by_code);
}

}  // namespace

void add_machine_options(CLI::App& app, MachineCommand& command) {
  app.add_option("--budget", command.budget, "time, as 90s or 5m, 0 = until all is done (default 5m)")
      ->type_name("DURATION");
  app.add_option("--kernels", command.kernels, "how many, the most representative first, 0 = all (default 0)")
      ->check(not_negative());
  add_max_isa_option(app, command.max_isa);
}

int collect_machine(const MachineCommand& command) {
  const std::string shipped = cost::shipped_file("machine-kernels.db"), path = cost::machine_database();
  if (shipped.empty()) throw RunError("the kernels to measure are missing", "machine-kernels.db", "see hone doctor");
  if (path.empty()) throw Error("there is no home folder for the run times", "XDG_DATA_HOME", "name a folder in it");
  collect::CollectOptions options{.kind = collect::CollectKind::Fusion};
  options.max_isa = command.max_isa;
  options.validate();
  const double budget_s = parse_duration_s(command.budget, "--budget");
  Database database = open_database(path);
  CodeStore code(cost::machine_code_folder());
  collect::MachineReport report;
  {
    const auto measurer = collect::make_collect_measurer(database, options, budget_s, /*memory_limit_bytes=*/0);
    ProgressOptions shown;
    shown.quiet = command.output->quiet;
    std::unique_ptr<Progress> progress;
    const auto on_progress = [&](const collect::CollectProgress& p) {
      shown.total = static_cast<double>(p.total);
      if (!progress) progress = std::make_unique<Progress>(p.doing, shown);
      progress->set_known(static_cast<double>(p.known));
      progress->update(static_cast<double>(p.done), p.program);
    };
    report = collect::measure_machine(shipped, command.kernels, {database, code}, *measurer, on_progress);
  }
  const cost::MachineVerdicts verdicts = cost::machine_verdicts(command.max_isa);
  if (command.output->json)
    print(to_json(report, verdicts));
  else
    print_text(report, verdicts);
  return report.complete ? 0 : 1;
}

}  // namespace hone::cli
