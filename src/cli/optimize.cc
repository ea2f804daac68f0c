// hone optimize PROGRAM applies a model's choices in seconds.
#include "optimize/optimize.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/progress.h"
#include "cli/optimize_command.h"
#include "features/machine_record.h"
#include "optimize/calibrate.h"
#include "optimize/forms.h"
#include "report/report.h"

namespace hone::cli {

namespace {

using nlohmann::json;

constexpr double kLayoutsSeconds = 1;  // of predicting them

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

// Of the duel of what was chosen; null where none was run, or default XLA was left.
json guard_json(const optimize::OptimizeReport& r) {
  if (!r.guarded) return nullptr;
  return {{"speedup", r.check.ratio},
          {"speedup_interval", {r.check.ratio_low, r.check.ratio_high}},
          {"rounds", r.check.rounds}};
}

json optimize_json(const optimize::OptimizeReport& r, const report::TuneReport& report, const std::string& model) {
  json kernels = json::array(), rewrites = json::array(), operations = json::array(), forms = json::array(),
       thread_options = json::array(), layouts = json::array();
  for (const optimize::OptimizedKernel& k : r.kernels) kernels.push_back(kernel_json(k));
  for (const optimize::OptimizedKernel& k : r.rewrites) rewrites.push_back(kernel_json(k));
  for (const optimize::OptimizedKernel& k : r.operations) operations.push_back(kernel_json(k));
  for (const optimize::OptimizedKernel& k : r.forms) forms.push_back(kernel_json(k));
  for (const optimize::OptimizedKernel& k : r.thread_options) thread_options.push_back(kernel_json(k));
  for (const optimize::OptimizedKernel& k : r.layouts) layouts.push_back(kernel_json(k));
  json j = {{"program", report.program},
            {"fingerprint", report.fingerprint},
            {"instructions", r.instructions},
            {"model", model},
            {"kernels", std::move(kernels)},
            {"rewrites", std::move(rewrites)},
            {"operations", std::move(operations)},
            {"forms", std::move(forms)},
            {"thread_options", std::move(thread_options)},
            {"layouts", std::move(layouts)},
            {"applied", r.decisions.size()},
            {"verified", r.verified},
            {"guard", guard_json(r)},
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
  for (const optimize::OptimizedKernel& k : r.thread_options)
    if (k.applied) fmt::print("  {:<16} {} {:.3f}x in a duel\n", k.name, k.chosen, k.gain);
  for (const optimize::OptimizedKernel& k : r.layouts)
    if (k.applied) fmt::print("  layout of {:<52.52} {} {:.3f}x in a duel\n", k.name, k.chosen, k.gain);
  for (const optimize::OptimizedKernel& k : r.forms)
    if (k.applied) fmt::print("  {:<60.60} {} {:.3f}x expected\n", k.name, k.chosen, k.gain);
  fmt::print("  {} of {} kernels compiled with another option; outputs {}\n", rows.size(), r.kernels.size(),
             r.verified ? "verified" : "NOT verified");
  if (r.guarded)
    fmt::print("  duel with default XLA: {:.3f}x [{:.3f}, {:.3f}] in {} rounds\n", r.check.ratio, r.check.ratio_low,
               r.check.ratio_high, r.check.rounds);
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
  result.measurement = r.check;  // the only measurement
  if (!c.options.verify) result.measurement.outcome = tune::Outcome::Unverified;
  if (r.check.rounds == 0) result.measurement.ratio = 1;
  result.lowered = r.lowered;
  result.note = r.guarded ? fmt::format("chosen by a model; run times are those of a duel of {} rounds", r.check.rounds)
                          : "chosen by a model without measuring: run times are those of a single round";
  if (guards(c) && !r.guarded) result.note = "default XLA: no choice was made, or none won its duel";
  if (!c.options.verify) result.note = "chosen by a model, neither measured nor verified";
  if (!r.note.empty()) result.note += "; " + r.note;
  for (const optimize::OptimizedKernel& k : r.kernels) result.kernels.push_back(as_kernel_report(k));
  report::TuneReport report = report::make_report(*opened.session, result);
  report.inputs = opened.inputs;
  report.output = path;
  return report;
}

std::unique_ptr<cost::KernelRanker> option_ranker(const OptimizeCommand& c) {
  const features::Cpu cpu = features::this_cpu(c.program->threads_used(), c.program->max_isa);
  return c.tile_model == "analytical" ? cost::analytical_ranker("", cpu) : cost::learned_ranker(model_path(c), cpu);
}

void add_note(optimize::OptimizeReport& result, const std::string& note) {
  result.note += (result.note.empty() ? "" : "; ") + note;
}

// Where they are another class's.
void add_note_of_gains(const char* what, const tune::Calibration& gains, const std::string& machine,
                       optimize::OptimizeReport& result) {
  if (gains.kernels == 0 || gains.machine == machine || gains.machine.empty()) return;
  add_note(result, fmt::format("gains of {} are those of {}, as those of this machine ({}) are not known", what,
                               gains.machine, machine));
}

// Null without a model of what layouts lead to.
optimize::PredictedLayouts predicted_layouts(const OptimizeCommand& c, OpenedProgram& opened) {
  const auto models = std::make_shared<const tune::VariedModels>(
      tune::shipped_varied_models(c.models, c.program->threads_used(), c.program->max_isa));
  if (models->empty()) return nullptr;
  return [session = opened.session.get(), models](const Decisions& under) {
    return tune::predict_layouts(*session, under, *models, kLayoutsSeconds);
  };
}

// Beside the start of the worker: its file takes a quarter of a second to read.
std::future<std::unique_ptr<cost::OperationRanker>> operations_model(const OptimizeCommand& c) {
  return std::async(std::launch::async, [&c] {
    return cost::OperationRanker::open(c.operation_model, c.program->threads_used(), c.program->max_isa, c.models,
                                       guards(c));
  });
}

optimize::OptimizeReport optimize_opened(const OptimizeCommand& c, OpenedProgram& opened,
                                         const cost::OperationRanker* operations, cost::KernelRanker& ranker,
                                         const tune::Calibration& gains) {
  ProgressOptions shown;
  shown.quiet = c.output->quiet;
  Progress progress("optimize", shown);
  optimize::OptimizeOptions options = c.options;
  options.on_ranked = [&](int kernel, int kernels) {
    progress.update(kernel, kernel < kernels ? fmt::format("of {} kernels ranked", kernels) : "checking the outputs");
  };
  const int threads = c.program->threads_used();
  options.operations = operations;
  const features::Cpu cpu = features::this_cpu(threads, c.program->max_isa);
  const std::string machine = features::this_machine_class(threads, c.program->max_isa);
  optimize::FormsModel forms;
  if (!c.no_forms && guards(c)) forms = optimize::shipped_forms_model(c.models, machine, cpu);
  if (forms.run_times)
    options.predict = [&](const Lowered& l) { return optimize::predicted_run(*forms.run_times, l, cpu); };
  options.form_gains = forms.gains;
  if (!c.no_layouts && guards(c)) options.layouts = predicted_layouts(c, opened);
  optimize::OptimizeReport result = optimize::optimize_program(*opened.session, ranker, gains, options);
  if (forms.run_times) add_note_of_gains("forms", forms.gains, machine, result);
  return result;
}

// Prints every kernel's options in the model's order; decides nothing.
int rank_only(const OptimizeCommand& c) {
  auto reading = operations_model(c);
  const auto ranker = option_ranker(c);
  OpenedProgram opened = open_program(*c.program);
  const auto operations = reading.get();
  const optimize::OptimizeReport result = optimize_opened(c, opened, operations.get(), *ranker, {});
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
  if (const std::optional<int> status = run_calibration(c)) return *status;
  if (c.program->program.empty()) throw Error("no program is given", "PROGRAM", "see hone optimize --help");
  // Check the options, the model and the output's name before the work.
  c.options.verify = !c.no_verify && !c.rank_only;
  c.options.guard_s = parse_duration_s(c.guard, "--guard");
  c.options.validate();
  if (c.rank_only) return rank_only(c);
  const std::string path = report::package_path(c.out, report::program_name(c.program->program));
  report::check_replaceable(path, c.force);
  if (c.tile_model == "analytical")
    throw Error("the analytical model has no calibration", "--tile-model", "--rank-only ranks by it");
  const std::string machine = features::this_machine_class(c.program->threads_used(), c.program->max_isa);
  const tune::Calibration gains = gains_of_model(c, machine);
  auto reading = operations_model(c);
  const auto ranker = option_ranker(c);
  OpenedProgram opened = open_program(*c.program);
  check_runs(opened);
  const auto operations = reading.get();
  optimize::OptimizeReport result = optimize_opened(c, opened, operations.get(), *ranker, gains);
  add_note_of_gains("kernels", gains, machine, result);
  if (gains.kernels == 0)
    add_note(result, fmt::format("no gains of kernels are known on this class of machines ({}): they stay as they are",
                                 machine));

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
  app.add_flag("--no-layouts", c->no_layouts, "leave layouts as XLA assigns them");
  app.add_flag("--no-forms", c->no_forms,
               "leave reductions, attention and other operations in the form that XLA gives them");
  app.add_option(
         "--guard", c->guard,
         "longest duel with default XLA, which the choices must win by 1 %, or 0: then nothing is timed, and choices "
         "are only made on machines whose gains are known (default 1s)")
      ->type_name("DURATION");
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
