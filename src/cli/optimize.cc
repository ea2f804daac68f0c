// hone optimize PROGRAM applies a model's choices in seconds without timing; hone optimize --calibrate measures their
// gains.
#include "optimize/optimize.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/progress.h"
#include "cli/cli.h"
#include "cli/help.h"
#include "features/machine_record.h"
#include "optimize/calibrate.h"
#include "optimize/forms.h"
#include "report/report.h"

namespace hone::cli {

namespace {

using nlohmann::json;

struct OptimizeCommand {
  std::shared_ptr<OutputOptions> output;
  std::shared_ptr<ProgramOptions> program;
  std::string out, tile_model = "shipped", operation_model = "shipped", gains, models;
  optimize::OptimizeOptions options;
  bool no_forms = false, no_verify = false, rank_only = false, force = false, judge = false;
  std::vector<std::string> calibrate;                // data sets
  std::string rewrites, split, part = "validation";  // manifest of a calibration
  std::string form_rows;
};

std::string model_path(const OptimizeCommand& c) { return optimize::ranking_model(c.tile_model, c.models); }

tune::Calibration gains_of_model(const OptimizeCommand& c, const std::string& machine) {
  return optimize::known_gains(model_path(c), c.gains, c.models, machine);
}

// ---- calibration

void print_gains(const tune::Calibration& gains) {
  fmt::print("{} kernels of {} programs\n  {:<16} {:>6} {:>10} {:>8} {:>9} {:>10} {:>14}\n", gains.kernels,
             gains.programs, "transition", "seen", "margin from", "kernels", "programs", "mean gain", "9 in 10 above");
  for (const auto& [transition, t] : gains.by_transition)
    if (t.kernels > 0)
      fmt::print("  {:<16} {:>6} {:>10.3f} {:>8} {:>9} {:>9.3f}x {:>13.3f}x\n", transition, t.seen, t.from, t.kernels,
                 t.programs, std::exp(t.gain), std::exp(t.low));
    else
      fmt::print("  {:<16} {:>6} {:>10}\n", transition, t.seen, "never");
}

// One calibration, or one for each of several classes of machines.
int report_gains(const OptimizeCommand& c, const std::vector<tune::Calibration>& all) {
  json classes = json::array();
  for (const tune::Calibration& gains : all) classes.push_back(gains.to_json());
  const json file = all.size() == 1 ? classes[0] : json{{"classes", classes}};
  if (!c.out.empty()) write_file(c.out, file.dump(1) + "\n");
  if (c.output->json) {
    print(file);
    return 0;
  }
  for (const tune::Calibration& gains : all) {
    if (!gains.machine.empty()) fmt::print("{}: ", gains.machine);
    print_gains(gains);
  }
  return 0;
}

// The effect that calibrated choices would have had on the measured kernels.
void print_judged(const OptimizeCommand& c, const std::map<std::string, tune::JudgedProgram>& judged) {
  json rows = json::array();
  if (!c.output->json)
    fmt::print("{:<32} {:>8} {:>8} {:>8} {:>8}\n", c.part + " program", "kernels", "changed", "gain", "worst");
  for (const auto& [name, p] : judged) {
    rows.push_back({{"program", name},
                    {"kernels", p.kernels},
                    {"changed", p.changed},
                    {"gain", p.default_ns / p.chosen_ns},
                    {"worst", p.worst}});
    if (!c.output->json)
      fmt::print("{:<32.32} {:>8} {:>8} {:>7.3f}x {:>7.3f}x\n", name, p.kernels, p.changed, p.default_ns / p.chosen_ns,
                 p.worst);
  }
  if (c.output->json) print({{"part", c.part}, {"programs", std::move(rows)}});
}

int calibrate_command(const OptimizeCommand& c) {
  if (c.split.empty()) throw Error("no split is given", "--split", "give the file the model was trained with");
  const std::string model = model_path(c);
  const std::vector<std::string> programs = optimize::held_back_programs(c.split, c.part);
  if (c.judge) {
    if (c.calibrate.size() > 1) throw Error("one data set is judged at a time", "--judge");
    const std::string& dataset = c.calibrate.front();
    print_judged(c, optimize::judge(model, dataset, programs, gains_of_model(c, optimize::dataset_class(dataset))));
    return 0;
  }
  std::vector<tune::Calibration> classes;
  for (const std::string& dataset : c.calibrate) classes.push_back(optimize::calibrate(model, dataset, programs));
  return report_gains(c, classes);
}

int calibrate_forms_command(const OptimizeCommand& c) {
  const std::string model = cost::shipped_model("fusion", c.models);
  if (model.empty())
    throw Error("no model of run times is shipped with this build", "--models", "make models trains one");
  return report_gains(c, optimize::calibrate_forms(c.form_rows, model));
}

int calibrate_rewrites_command(const OptimizeCommand& c) {
  if (c.split.empty()) throw Error("no split is given", "--split", "give a split file of the manifest");
  const auto open = [&](const std::string& file) {
    ProgramOptions options = *c.program;
    options.program = file;
    return open_program(options).session;
  };
  std::optional<Progress> progress;
  const auto on_program = [&](size_t done, size_t programs, const std::string& name) {
    ProgressOptions shown;
    shown.total = static_cast<double>(programs);
    shown.quiet = c.output->quiet;
    if (!progress) progress.emplace("measuring rewrites", shown);
    progress->update(static_cast<double>(done), name);
  };
  const tune::Calibration gains =
      optimize::calibrate_rewrites(c.rewrites, optimize::held_back_programs(c.split, c.part), open, on_program);
  progress.reset();
  return report_gains(c, {gains});
}

// ---- optimisation

json kernel_json(const optimize::OptimizedKernel& k) {
  json row = {{"name", k.name},
              {"fingerprint", k.fingerprint},
              {"kind", k.kind},
              {"count", k.count},
              {"share", k.share},
              {"options", k.options},
              {"default", k.default_value},
              {"chosen", k.chosen},
              {"transition", k.transition},
              {"margin", k.margin},
              {"gain", k.gain},
              {"error", k.error},
              {"applied", k.applied},
              {"order", k.order}};
  if (!k.note.empty()) row["note"] = k.note;
  return row;
}

json optimize_json(const optimize::OptimizeReport& r, const report::TuneReport& report, const std::string& model) {
  json kernels = json::array(), rewrites = json::array(), operations = json::array(), forms = json::array();
  for (const optimize::OptimizedKernel& k : r.kernels) kernels.push_back(kernel_json(k));
  for (const optimize::OptimizedKernel& k : r.rewrites) rewrites.push_back(kernel_json(k));
  for (const optimize::OptimizedKernel& k : r.operations) operations.push_back(kernel_json(k));
  for (const optimize::OptimizedKernel& k : r.forms) forms.push_back(kernel_json(k));
  json j = {{"program", report.program},
            {"fingerprint", report.fingerprint},
            {"instructions", r.instructions},
            {"model", model},
            {"kernels", std::move(kernels)},
            {"rewrites", std::move(rewrites)},
            {"operations", std::move(operations)},
            {"forms", std::move(forms)},
            {"applied", r.decisions.size()},
            {"verified", r.verified},
            {"lowering_s", r.lowering_s},
            {"ranking_s", r.ranking_s},
            {"verifying_s", r.verifying_s},
            {"seconds", report.seconds},
            {"seed", report.target.seed},
            {"threads", report.target.threads},
            {"isa", report.isa},
            {"decisions", report::decisions_object(r.decisions)},
            {"output", report.output}};
  if (!r.note.empty()) j["note"] = r.note;
  return j;
}

void print_optimized(const optimize::OptimizeReport& r, const report::TuneReport& report, const std::string& model) {
  fmt::print("{}  {} instructions, {} distinct kernels, ranked by {}\n", report.program, r.instructions,
             r.kernels.size(), model);
  std::vector<const optimize::OptimizedKernel*> rows;
  for (const optimize::OptimizedKernel& k : r.kernels)
    if (k.applied) rows.push_back(&k);
  std::stable_sort(rows.begin(), rows.end(), [](auto* a, auto* b) { return a->share > b->share; });
  if (!rows.empty())
    fmt::print("  {:<36} {:<14} {:<18} {:>9} {:>8}\n", "kernel", "default", "chosen", "expected", "error");
  const auto shifted = std::count_if(r.rewrites.begin(), r.rewrites.end(), [](auto& k) { return k.applied; });
  constexpr size_t kShown = 20;
  for (size_t i = 0; i < rows.size() && i < kShown; ++i)
    fmt::print("  {:<36.36} {:<14} {:<18} {:>8.3f}x {:>8.3f}\n", rows[i]->name, rows[i]->default_value, rows[i]->chosen,
               rows[i]->gain, rows[i]->error);
  if (rows.size() > kShown) fmt::print("  and {} more\n", rows.size() - kShown);
  if (!r.rewrites.empty())
    fmt::print("  {} of {} convolutions and poolings rewritten to slices\n", shifted, r.rewrites.size());
  const auto forms = std::count_if(r.operations.begin(), r.operations.end(), [](auto& k) { return k.applied; });
  if (!r.operations.empty())
    fmt::print("  {} of {} convolutions and dots in another form\n", forms, r.operations.size());
  for (const optimize::OptimizedKernel& k : r.forms)
    if (k.applied) fmt::print("  {:<60.60} {} {:.3f}x expected\n", k.name, k.chosen, k.gain);
  fmt::print("  {} of {} kernels compiled with another option; outputs {}\n", rows.size(), r.kernels.size(),
             r.verified ? "verified" : "NOT verified");
  if (!r.note.empty()) fmt::print("  note: {}\n", r.note);
  fmt::print("  {:.1f} s: lowering {:.2f}, ranking {:.2f}, check {:.2f}; written to {}\n", report.seconds, r.lowering_s,
             r.ranking_s, r.verifying_s, report.output);
}

tune::KernelReport as_kernel_report(const optimize::OptimizedKernel& k) {
  tune::KernelReport report;
  report.fingerprint = k.fingerprint;
  report.name = k.name;
  report.kind = k.kind;
  report.count = k.count;
  report.share = k.share;
  report.decision = k.decision;
  report.key = k.key;
  report.default_value = k.default_value;
  report.chosen = k.chosen;
  report.options = k.options;
  report.kept = k.applied;
  return report;
}

report::TuneReport package_report(const OptimizeCommand& c, OpenedProgram& opened, const optimize::OptimizeReport& r,
                                  const std::string& path) {
  tune::ProgramResult result;
  result.decisions = r.decisions;
  result.measurement = r.check;  // one round, the only measurement
  if (!c.options.verify) result.measurement.outcome = tune::Outcome::Unverified;
  if (r.check.rounds == 0) result.measurement.ratio = 1;
  result.lowered = r.lowered;
  result.note = "chosen by a model without measuring: run times are those of a single round";
  if (!c.options.verify) result.note = "chosen by a model, neither measured nor verified";
  if (!r.note.empty()) result.note += "; " + r.note;
  for (const optimize::OptimizedKernel& k : r.kernels) result.kernels.push_back(as_kernel_report(k));
  report::TuneReport report = report::make_report(*opened.session, result);
  report.inputs = opened.inputs;
  report.output = path;
  return report;
}

std::unique_ptr<cost::KernelRanker> option_ranker(const OptimizeCommand& c) {
  const features::Cpu cpu = features::this_cpu(c.program->threads.value_or(1), c.program->max_isa);
  return c.tile_model == "analytical" ? cost::analytical_ranker("", cpu) : cost::learned_ranker(model_path(c), cpu);
}

optimize::OptimizeReport optimize_opened(const OptimizeCommand& c, OpenedProgram& opened, cost::KernelRanker& ranker,
                                         const tune::Calibration& gains) {
  ProgressOptions shown;
  shown.quiet = c.output->quiet;
  Progress progress("optimize", shown);
  optimize::OptimizeOptions options = c.options;
  options.on_ranked = [&](int kernel, int kernels) {
    progress.update(kernel, kernel < kernels ? fmt::format("of {} kernels ranked", kernels) : "checking the outputs");
  };
  const auto operations =
      cost::OperationRanker::open(c.operation_model, c.program->threads.value_or(1), c.program->max_isa, c.models);
  options.operations = operations.get();
  const int threads = c.program->threads.value_or(1);
  const features::Cpu cpu = features::this_cpu(threads, c.program->max_isa);
  optimize::FormsModel forms;
  if (!c.no_forms && !c.rank_only)
    forms = optimize::shipped_forms_model(c.models, features::this_machine_class(threads, c.program->max_isa), cpu);
  if (forms.run_times)
    options.predict = [&](const Lowered& l) { return optimize::predicted_run(*forms.run_times, l, cpu); };
  options.form_gains = forms.gains;
  return optimize::optimize_program(*opened.session, ranker, gains, options);
}

// Prints every kernel's options in the model's order; decides nothing.
int rank_only(const OptimizeCommand& c) {
  const auto ranker = option_ranker(c);
  OpenedProgram opened = open_program(*c.program);
  const optimize::OptimizeReport result = optimize_opened(c, opened, *ranker, {});
  json kernels = json::array();
  for (const optimize::OptimizedKernel& k : result.kernels) {
    kernels.push_back(kernel_json(k));
    for (const char* about_gains : {"chosen", "transition", "margin", "gain", "error", "applied"})
      kernels.back().erase(about_gains);
    if (!c.output->json && k.order.size() > 1) {
      fmt::print("{} ({}, {} options):", k.name, k.default_value, k.order.size());
      for (size_t i = 0; i < k.order.size() && i < 5; ++i) fmt::print(" {}", k.order[i]);
      fmt::print("\n");
    }
  }
  if (c.output->json)
    print({{"program", opened.session->name()},
           {"model", ranker->name()},
           {"kernels", std::move(kernels)},
           {"lowering_s", result.lowering_s},
           {"ranking_s", result.ranking_s}});
  return 0;
}

int optimize_command(OptimizeCommand& c) {
  const auto start = std::chrono::steady_clock::now();
  if (!c.calibrate.empty()) return calibrate_command(c);
  if (!c.rewrites.empty()) return calibrate_rewrites_command(c);
  if (!c.form_rows.empty()) return calibrate_forms_command(c);
  if (c.program->program.empty()) throw Error("no program is given", "PROGRAM", "see hone optimize --help");
  // Check the options, the model and the output's name before the work.
  c.options.verify = !c.no_verify && !c.rank_only;
  c.options.validate();
  if (c.rank_only) return rank_only(c);
  const std::string path = report::package_path(c.out, report::program_name(c.program->program));
  report::check_replaceable(path, c.force);
  if (c.tile_model == "analytical")
    throw Error("the analytical model has no calibration", "--tile-model", "--rank-only ranks by it");
  const std::string machine = features::this_machine_class(c.program->threads.value_or(1), c.program->max_isa);
  const tune::Calibration gains = gains_of_model(c, machine);
  const auto ranker = option_ranker(c);
  OpenedProgram opened = open_program(*c.program);
  check_runs(opened);
  optimize::OptimizeReport result = optimize_opened(c, opened, *ranker, gains);
  if (gains.kernels == 0)
    result.note += fmt::format("{}no gains of kernels are known on this class of machines ({}): they stay as they are",
                               result.note.empty() ? "" : "; ", machine);

  report::Package package;
  package.report = package_report(c, opened, result, path);
  package.report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  package.file = opened.file.file;
  const auto& proto = opened.session->program().module_proto;
  package.program_bytes.assign(proto.begin(), proto.end());
  package.tuned_hlo = result.lowered.hlo;
  report::write_package(path, package, c.force);
  if (c.output->json)
    print(optimize_json(result, package.report, ranker->name()));
  else
    print_optimized(result, package.report, ranker->name());
  return 0;
}

}  // namespace

Runner declare_optimize(CLI::App& app) {
  const auto c = std::make_shared<OptimizeCommand>();
  c->program = add_program_options(app);
  app.get_option("PROGRAM")->required(false);  // --calibrate has none
  app.add_option(
         "--tile-model", c->tile_model,
         "model that ranks the options of each kernel: weights of hone train tile, or with --rank-only analytical "
         "(default: the weights that come with hone)")
      ->type_name("FILE");
  app.add_option("--operation-model", c->operation_model,
                 "model of the forms of convolutions and half-precision dots: a file of weights, or none (default: the "
                 "one that comes with hone)")
      ->type_name("FILE");
  add_models_option(app, c->models);
  app.add_option(
      "--max-options", c->options.max_options,
      "most options of one kernel that are ranked, 0 = all (default 24: as many as the calibration is about)");
  app.add_flag("--no-forms", c->no_forms,
               "leave reductions, attention and other operations in the form that XLA gives them");
  app.add_flag("--no-verify", c->no_verify, "do not run the program to compare its outputs with default XLA's");
  app.add_flag("--rank-only", c->rank_only, "print the options of every kernel, best first, and write nothing");
  begin_group(app, "Output");
  app.add_option("-o,--output", c->out, "package to write (default NAME.hone), or the file of a calibration")
      ->type_name("FILE");
  app.add_flag("--force", c->force, "replace the output even if it is not a package");
  c->output = add_output_options(app);
  begin_group(app, kMaintainers);
  app.set_help_all_flag("--help-all", "print this help with options for maintainers and exit")->group("Output");
  app.add_option("--calibrate", c->calibrate,
                 "data sets of hone collect, of a machine each: measure the gains of the model's choices on them")
      ->type_name("FOLDER");
  app.add_option(
         "--calibrate-rewrites,--calibrate-windows", c->rewrites,
         "manifest of programs: measure the gains of rewriting their grouped convolutions and poolings to slices")
      ->type_name("FILE");
  app.add_option("--calibrate-forms", c->form_rows,
                 "measured and predicted forms of operations, a JSON object a line: the gains of choices by predicted "
                 "run times")
      ->type_name("FILE");
  app.add_option("--split", c->split, "file that names the programs on which the model was not trained")
      ->type_name("FILE");
  app.add_option("--part", c->part,
                 "part of the split that a calibration takes: validation or test (default validation)")
      ->check(one_of({"validation", "test"}));
  app.add_flag("--judge", c->judge, "show the effect of choices by --gains on the kernels of --calibrate");
  app.add_option("--gains", c->gains,
                 "file of a calibration of --tile-model (default: of the weights that come with hone)")
      ->type_name("FILE");
  return [c] { return optimize_command(*c); };
}

}  // namespace hone::cli
