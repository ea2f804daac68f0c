#include "collect/collect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/isa.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/collect_machine.h"
#include "collect/known_winners.h"
#include "collect/layout_collect.h"
#include "data/dataset.h"

namespace hone::cli {

namespace {

struct CollectCommand {
  std::shared_ptr<OutputOptions> output;
  std::shared_ptr<std::string> db;
  std::vector<std::string> programs;
  std::string manifest, family, budget = "30m", out, kind = "tile", host, split, isa;
  collect::CollectOptions options;
  bool each_host = false;
};

std::vector<collect::CollectProgram> programs_of(const CollectCommand& command) {
  std::vector<collect::CollectProgram> programs;
  if (!command.manifest.empty()) programs = collect::read_manifest(command.manifest);
  if (!command.manifest.empty() && !command.family.empty())
    throw Error("a manifest names families itself", "--family", "leave out one of --family and --manifest");
  for (const std::string& file : command.programs) {
    if (!std::filesystem::exists(file)) throw Error("there is no such file", file);
    const std::string name = report::program_name(file);
    programs.push_back({name, file, command.family.empty() ? name : command.family});
  }
  return programs;
}

nlohmann::json report_json(const collect::ExportReport& report, const std::string& folder) {
  return {{"folder", folder},
          {"kernels", report.kernels},
          {"options", report.options},
          {"programs", report.programs},
          {"left_out", report.left_out},
          {"refused", report.refused},
          {"host", report.host},
          {"xla_version", report.xla_version}};
}

void print_text(const collect::ExportReport& report, const std::string& folder) {
  fmt::print(
      "{}: {} kernels of {} programs, {} run times; {} kernels without sound run times, {} that cannot be encoded\n",
      folder, report.kernels, report.programs, report.options, report.left_out, report.refused);
}

collect::ExportReport export_to(const CollectCommand& command, const Database& database) {
  collect::ExportOptions options;
  options.kind = command.options.kind;
  options.threads = command.options.threads;
  options.host = command.host;
  options.cold = command.options.cold;
  return collect::export_dataset(database, command.out, options);
}

nlohmann::json report_json(const collect::CollectReport& r) {
  const double rate = r.measuring_s > 0 ? static_cast<double>(r.measured) / r.measuring_s : 0;
  return {{"programs", r.programs},
          {"programs_failed", r.programs_failed},
          {"configurations", r.configurations},
          {"configurations_failed", r.configurations_failed},
          {"kernels", r.kernels},
          {"kernels_new", r.kernels_new},
          {"planned", r.planned},
          {"known", r.known},
          {"measured", r.measured},
          {"ok", r.ok},
          {"rejected", r.rejected},
          {"failed", r.failed},
          {"lowering_s", r.lowering_s},
          {"measuring_s", r.measuring_s},
          {"measured_per_s", rate},
          {"complete", r.complete},
          {"interrupted", interrupted()}};
}

int collect_command(const CollectCommand& command) {
  const double budget_s = parse_duration_s(command.budget, "--budget");
  command.options.validate();
  const std::vector<collect::CollectProgram> programs = programs_of(command);
  if (programs.empty()) throw Error("no program to collect from", "PROGRAM", "name files or give a --manifest");
  Database database = open_database(*command.db);
  const auto measurer = collect::make_collect_measurer(database, command.options, budget_s, /*memory_limit_bytes=*/0);

  ProgressOptions shown;
  shown.quiet = command.output->quiet;
  shown.budget_s = budget_s;
  std::unique_ptr<Progress> progress;
  std::string doing;
  const auto on_progress = [&](const collect::CollectProgress& p) {
    if (doing != p.doing) {  // lowering and measuring have different rates
      doing = p.doing;
      shown.total = static_cast<double>(p.total);
      shown.budget_s = budget_s > 0 ? measurer->seconds_left() : 0;
      progress.reset();
      progress = std::make_unique<Progress>(doing, shown);
    }
    progress->set_known(static_cast<double>(p.known));
    progress->update(static_cast<double>(p.done), p.program);
  };
  const collect::CollectReport report = collect::collect(programs, database, *measurer, command.options, on_progress);
  progress.reset();

  nlohmann::json summary = report_json(report);
  summary["kind"] = command.kind;
  summary["db"] = database_path(*command.db);
  if (!command.output->json) {
    fmt::print("{} programs ({} failed), {} kernels ({} new), {} lowerings ({} failed)\n", report.programs,
               report.programs_failed, report.kernels, report.kernels_new, report.configurations,
               report.configurations_failed);
    fmt::print("{} candidates measured in {}: {:.1f}/s; {} fine, {} with other outputs, {} failed; {} known before\n",
               report.measured, human_ns(report.measuring_s * 1e9), summary["measured_per_s"].get<double>(), report.ok,
               report.rejected, report.failed, report.known);
    if (!report.complete)
      fmt::print("{} candidates are left: run the same command again to continue\n",
                 report.planned - report.known - report.measured);
  }
  if (!command.out.empty()) {
    const collect::ExportReport exported = export_to(command, database);
    summary["out"] = report_json(exported, command.out);
    if (!command.output->json) print_text(exported, command.out);
  }
  if (command.output->json) print(summary);
  return 0;
}

collect::LayoutCollectOptions layout_options(const CollectCommand& command) {
  collect::LayoutCollectOptions options;
  if (command.options.configurations != 0) options.configurations = command.options.configurations;
  options.seed = command.options.seed;
  options.threads = command.options.threads;
  options.max_isa = command.options.max_isa;
  options.budget_s = parse_duration_s(command.budget, "--budget");
  options.validate();
  return options;
}

nlohmann::json report_json(const collect::LayoutCollectReport& r) {
  return {{"kind", "layout"},
          {"programs", r.programs},
          {"programs_failed", r.programs_failed},
          {"programs_without_choice", r.programs_without_choice},
          {"planned", r.planned},
          {"known", r.known},
          {"measured", r.measured},
          {"ok", r.ok},
          {"rejected", r.rejected},
          {"failed", r.failed},
          {"measuring_s", r.measuring_s},
          {"complete", r.complete},
          {"interrupted", interrupted()}};
}

int layout_command(const CollectCommand& command) {
  const collect::LayoutCollectOptions options = layout_options(command);
  const std::vector<collect::CollectProgram> programs = programs_of(command);
  if (programs.empty()) throw Error("no program to collect from", "PROGRAM", "name files or give a --manifest");
  Database database = open_database(*command.db);
  collect::LayoutCollectReport report;
  {
    ProgressOptions shown;
    shown.quiet = command.output->quiet;
    shown.budget_s = options.budget_s;
    Progress progress("measuring", shown);
    report = collect::collect_layouts(programs, database, options, [&](const collect::CollectProgress& p) {
      progress.set_known(static_cast<double>(p.known));
      progress.update(static_cast<double>(p.done), fmt::format("of {}, {}", p.total, p.program));
    });
  }
  nlohmann::json summary = report_json(report);
  summary["db"] = database_path(*command.db);
  if (!command.output->json) {
    fmt::print("{} programs ({} failed, {} with nothing to lay out)\n", report.programs, report.programs_failed,
               report.programs_without_choice);
    fmt::print("{} layouts measured in {}: {} fine, {} with other outputs, {} failed; {} known before\n",
               report.measured, human_ns(report.measuring_s * 1e9), report.ok, report.rejected, report.failed,
               report.known);
    if (!report.complete)
      fmt::print("{} layouts are left: run the same command again to continue\n",
                 report.planned - report.known - report.measured);
  }
  if (!command.out.empty()) {
    ProgressOptions shown;
    shown.quiet = command.output->quiet;
    shown.total = static_cast<double>(programs.size());
    Progress progress("writing files", shown);
    const collect::LayoutExportReport exported = collect::export_layouts(
        programs, database, command.out, options,
        [&](const collect::CollectProgress& p) { progress.update(static_cast<double>(p.done), p.program); });
    progress.finish();
    summary["out"] = {{"folder", command.out},
                      {"programs", exported.programs},
                      {"configurations", exported.configurations},
                      {"files", exported.files}};
    if (!command.output->json)
      fmt::print("{}: {} programs, {} configurations\n", command.out, exported.programs, exported.configurations);
  }
  if (command.output->json) print(summary);
  return 0;
}

// One data set for each host that measured, in folders of their names.
int export_each(const CollectCommand& command) {
  const Database database = open_existing_database(*command.db);
  const std::vector<std::string> hosts = collect::measured_hosts(database, command.options.threads);
  if (hosts.empty()) throw Error("the database has no measured kernels", *command.db, "hone collect measures them");
  nlohmann::json reports = nlohmann::json::array();
  for (const std::string& host : hosts) {
    CollectCommand one = command;
    one.host = host;
    one.out = (std::filesystem::path(command.out) / collect::host_folder(host)).string();
    collect::ExportReport report;
    try {
      report = export_to(one, database);
    } catch (const RunError&) {
      throw;
    } catch (const Error& e) {  // a machine that measured the other kind of data set alone
      spdlog::warn("{}: {}", host, e.what());
      continue;
    }
    reports.push_back(report_json(report, one.out));
    if (!command.output->json) print_text(report, one.out);
  }
  if (reports.empty()) throw Error("no host measured kernels of this kind", *command.db);
  if (command.output->json) print(reports);
  return 0;
}

int export_command(const CollectCommand& command) {
  if (command.options.threads < 1) throw Error("at least one thread is needed", "--threads");
  if (command.each_host && !command.host.empty())
    throw Error("either one host or each", "--each-host", "leave out one of --host and --each-host");
  if (command.each_host) return export_each(command);
  const collect::ExportReport report = export_to(command, open_existing_database(*command.db));
  if (command.output->json)
    print(report_json(report, command.out));
  else
    print_text(report, command.out);
  return 0;
}

int known_command(const CollectCommand& command) {
  const Split split = Split::read(command.split);
  collect::KnownWinnersOptions options;
  options.isa = command.isa.empty() ? cpu_isa() : command.isa;
  options.programs = {split.train.begin(), split.train.end()};
  options.measured.threads = command.options.threads;
  options.measured.host = command.host;
  const Database from = open_existing_database(*command.db);
  Database known = Database::open(command.out);
  const collect::KnownWinnersReport r = collect::add_known_winners(from, options, known);
  known.seal();
  if (command.output->json)
    print({{"output", command.out},
           {"isa", options.isa},
           {"kernels", r.kernels},
           {"winners", r.winners},
           {"structures", r.structures},
           {"kept", r.kept}});
  else
    fmt::print("{}: {} kernels of {} structures, from {} measured ones of which {} beat default XLA; for {}\n",
               command.out, r.kept, r.structures, r.kernels, r.winners, options.isa);
  return 0;
}

void add_collected_programs(CLI::App& app, CollectCommand& command) {
  app.add_option("PROGRAM", command.programs, "programs, in any format that hone inspect reads")->type_name("");
  app.add_option("--manifest", command.manifest, "JSON list of programs: [{\"name\", \"file\", \"family\"}, ...]")
      ->type_name("FILE");
  app.add_option("--budget", command.budget, "time, as 90s, 30m or 2h, 0 = until all is done (default 30m)")
      ->type_name("DURATION");
  app.add_option("--threads", command.options.threads, "threads of one run (default 1)");
  add_max_isa_option(app, command.options.max_isa);
}

void add_collect_options(CLI::App& app, CollectCommand& command) {
  add_collected_programs(app, command);
  app.add_option("--family", command.family, "family that the programs belong to (default: each is its own)");
  app.add_option(kOutput, command.out, "folder for the data set, written from the database at the end")
      ->type_name("FOLDER");
  app.add_option("--max-options", command.options.max_options, "most options of one kernel, 0 = all (default 24)");
  app.add_option("--max-per-program", command.options.max_per_program,
                 "most kernels of one program, 0 = all (default 0)");
  app.add_option("--visits", command.options.visits,
                 "measurements of each candidate, each in another process, all once before any again (default 1)");
  const auto varied = [&](const char* flag, collect::Varied what, const char* help) {
    return app.add_flag_callback(flag, [&command, what] { command.options.varied = what; }, help);
  };
  CLI::Option* layouts = varied("--layouts", collect::Varied::Layouts,
                                "gather the kernels of random layouts in place of random fusion configurations");
  varied("--forms", collect::Varied::Forms,
         "gather the kernels of random forms of operations and options of XLA in place of random fusion configurations")
      ->excludes(layouts);
  app.add_flag("--cold", command.options.cold,
               "measure with all inputs out of the caches, as in a program whose data exceed them");
  app.add_option("--configurations", command.options.configurations,
                 "random configurations of fusion, layouts or forms per program (default: tile 6, fusion 40)");
  app.add_option("--seed", command.options.seed, "seed for configurations, samples and inputs (default 0)");
}

void add_layout_options(CLI::App& app, CollectCommand& command) {
  add_collected_programs(app, command);
  app.add_option(kOutput, command.out, "folder for TpuGraphs files, one per program, written at the end")
      ->type_name("FOLDER");
  app.add_option("--configurations", command.options.configurations, "layouts of one program (default 100)")
      ->check(above_zero());
  app.add_option("--seed", command.options.seed, "seed for samples and inputs (default 0)");
}

void add_export_options(CLI::App& app, CollectCommand& command) {
  app.add_option(kOutput, command.out, "folder for the data set; it may not hold one already")
      ->required()
      ->type_name("FOLDER");
  app.add_option("--kind", command.kind, "kind of data set: tile or fusion (default tile)")
      ->check(one_of({"tile", "fusion"}));
  app.add_option("--threads", command.options.threads, "number of threads whose measurements are taken (default 1)");
  app.add_option("--host", command.host, "host whose measurements are taken (default: the one with most)");
  app.add_flag("--cold", command.options.cold, "the times that hone collect --cold measured");
  app.add_flag("--each-host", command.each_host, "one data set for each host, in folders of their names");
}

void add_known_options(CLI::App& app, CollectCommand& command) {
  app.add_option(kOutput, command.out, "database of winners to write, or to add to")->required()->type_name("FILE");
  app.add_option("--split", command.split, "split file: only kernels of its training programs are taken")
      ->required()
      ->type_name("FILE");
  app.add_option("--isa", command.isa, "instruction set of the machine that measured (default: this machine's)")
      ->check(one_of(max_isa_names()))
      ->type_name("ISA");
  app.add_option("--threads", command.options.threads, "number of threads whose measurements are taken (default 1)");
  app.add_option("--host", command.host, "host whose measurements are taken (default: the one with most)");
}

}  // namespace

Runner declare_collect(CLI::App& app) {
  app.require_subcommand(1);
  const auto chosen = std::make_shared<Runner>();
  const auto add = [&](const char* name, const char* summary, auto add_options, int (*run)(const CollectCommand&)) {
    CLI::App* sub = app.add_subcommand(name, summary);
    const auto command = std::make_shared<CollectCommand>();
    add_options(*sub, *command);
    command->db = add_database_option(*sub);
    command->output = add_output_options(*sub);
    sub->final_callback([chosen, command, run, kind = std::string(name)] {
      *chosen = [command, run, kind] {
        if (kind == "tile" || kind == "fusion") command->kind = kind;
        if (kind != "layout") command->options.kind = collect::collect_kind_from_name(command->kind);
        return run(*command);
      };
    });
  };
  add("tile", "measure the options of every kernel of the programs", add_collect_options, collect_command);
  add("fusion", "measure the kernels of random fusion configurations", add_collect_options, collect_command);
  add("layout", "measure whole programs under random layouts", add_layout_options, layout_command);
  add("known", "write the winners that a search on a new machine begins with", add_known_options, known_command);
  add("export", "write a data set from the database", add_export_options, export_command);
  CLI::App* machine = app.add_subcommand(
      "machine", "measure a sample of kernels, by which predictions of run times on this machine are corrected");
  const auto command = std::make_shared<MachineCommand>();
  add_machine_options(*machine, *command);
  command->output = add_output_options(*machine);
  machine->final_callback([chosen, command] { *chosen = [command] { return collect_machine(*command); }; });
  return [chosen] { return (*chosen)(); };
}

}  // namespace hone::cli
