// hone optimize PROGRAM: the choices of a model in seconds, nothing timed; hone optimize --calibrate: what they are worth.
#include "optimize/optimize.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/cli.h"
#include "collect/collect.h"
#include "cost/shipped.h"
#include "report/report.h"

namespace hone::cli {

namespace {

using nlohmann::json;

// Members that say by how much an option is faster; `hone tune` ranks by `tile`, which orders options better.
constexpr char kModel[] = "tile-ratio";
constexpr char kGainsFile[] = "tile-gains.json", kWindowGainsFile[] = "window-gains.json";

struct OptimizeCommand {
  std::shared_ptr<OutputOptions> output;
  std::shared_ptr<ProgramOptions> program;
  std::string out, tile_model = "shipped", gains;
  optimize::OptimizeOptions options;
  bool no_verify = false, rank_only = false, force = false, judge = false;
  std::string calibrate, split, part = "validation";  // of --calibrate
  std::string windows;                                // a manifest: --calibrate-windows
};

std::string model_path(const OptimizeCommand& c) {
  if (c.tile_model != "shipped") return c.tile_model;
  const std::string path = cost::shipped_model(kModel);
  if (path.empty()) throw Error("no model is shipped with this build", "--tile-model", "make models trains one");
  return path;
}

// The gains known of this very model.
tune::Calibration known_gains(const OptimizeCommand& c, const std::string& model) {
  const std::string path = c.gains.empty() ? cost::shipped_model(kGainsFile) : c.gains;
  const char* hint = "hone optimize --calibrate DATASET --split FILE measures it";
  if (path.empty()) throw Error("the error of this model is not known", model, hint);
  tune::Calibration gains = tune::Calibration::load(path);
  if (gains.model != tune::weights_fingerprint(model))
    throw Error("the error of this model is not known: the file is about another", path, hint);
  const std::string windows = c.gains.empty() ? cost::shipped_model(kWindowGainsFile) : "";
  if (!windows.empty()) gains.by_transition.merge(tune::Calibration::load(windows).by_transition);
  return gains;
}

// ---- calibration

void print_gains(const tune::Calibration& gains) {
  fmt::print("{} kernels of {} programs\n  {:<16} {:>6} {:>10} {:>8} {:>9} {:>10} {:>14}\n", gains.kernels,
             gains.programs, "way of change", "seen", "lead from", "kernels", "programs", "mean gain", "9 in 10 above");
  for (const auto& [way, t] : gains.by_transition)
    if (t.kernels > 0)
      fmt::print("  {:<16} {:>6} {:>10.3f} {:>8} {:>9} {:>9.3f}x {:>13.3f}x\n", way, t.seen, t.from, t.kernels,
                 t.programs, std::exp(t.gain), std::exp(t.low));
    else
      fmt::print("  {:<16} {:>6} {:>10}\n", way, t.seen, "never");
}

int report_gains(const OptimizeCommand& c, const tune::Calibration& gains) {
  if (!c.out.empty()) write_file(c.out, gains.to_json().dump(1) + "\n");
  if (c.output->json)
    print(gains.to_json());
  else
    print_gains(gains);
  return 0;
}

const std::vector<std::string>& held_back(const OptimizeCommand& c, const Split& split) {
  return c.part == "test" ? split.test : split.validation;
}

// What choices by known gains would have done to the measured kernels.
int judge(const OptimizeCommand& c, const Dataset& dataset, const std::vector<std::string>& programs,
          cost::LearnedModel& model) {
  const auto judged = tune::judge_gains(dataset, programs, model, known_gains(c, model_path(c)));
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
  return 0;
}

int calibrate(const OptimizeCommand& c) {
  if (c.split.empty()) throw Error("which programs are held back?", "--split", "the file the model was trained with");
  const std::string path = model_path(c);
  const auto model = cost::load_learned_model(path);
  if (model->task() != "tile") throw Error("these weights do not rank options", path, "weights of hone train tile do");
  const Dataset dataset = Dataset::open(c.calibrate);
  const Split split = Split::read(c.split);
  const auto& programs = held_back(c, split);
  if (c.judge) return judge(c, dataset, programs, *model);
  const tune::Calibration gains = tune::measure_gains(dataset, programs, *model, path);
  return report_gains(c, gains);
}

// The programs of one part of the split. An interrupt ends the measuring; what there is then is written.
int calibrate_windows(const OptimizeCommand& c) {
  if (c.split.empty()) throw Error("which programs are held back?", "--split", "a split file of the manifest");
  const Split split = Split::read(c.split);
  std::vector<collect::CollectProgram> programs = collect::read_manifest(c.windows);
  const auto& part = held_back(c, split);
  std::erase_if(programs, [&](const collect::CollectProgram& p) {
    return std::find(part.begin(), part.end(), p.name) == part.end();
  });
  if (programs.empty()) throw Error("no program of this part is in the manifest", c.windows, c.split);
  ProgressOptions shown;
  shown.total = static_cast<double>(programs.size());
  shown.quiet = c.output->quiet;
  Progress progress("measuring windows", shown);
  std::map<std::string, std::vector<tune::RankedGain>> measured;
  tune::Calibration gains;
  try {
    for (size_t i = 0; i < programs.size(); ++i) {
      progress.update(static_cast<double>(i), programs[i].name);
      ProgramOptions options = *c.program;
      options.program = programs[i].file;
      OpenedProgram opened = open_program(options);
      const auto found = tune::measure_rewrites(*opened.session, programs[i].name);
      gains.programs += !found.empty();
      for (const auto& [way, more] : found) {
        gains.kernels += static_cast<int>(more.size());
        measured[way].insert(measured[way].end(), more.begin(), more.end());
      }
    }
  } catch (const tune::Stopped&) {
    spdlog::warn("interrupted: {} operations of {} programs are measured", gains.kernels, gains.programs);
  }
  for (auto& [way, more] : measured) gains.by_transition[way] = tune::acceptance_threshold(std::move(more));
  return report_gains(c, gains);
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
              {"way", k.way},
              {"lead", k.lead},
              {"gain", k.gain},
              {"error", k.error},
              {"applied", k.applied},
              {"order", k.order}};
  if (!k.note.empty()) row["note"] = k.note;
  return row;
}

json summary(const optimize::OptimizeReport& r, const report::TuneReport& report, const std::string& model) {
  json kernels = json::array(), windows = json::array();
  for (const optimize::OptimizedKernel& k : r.kernels) kernels.push_back(kernel_json(k));
  for (const optimize::OptimizedKernel& k : r.windows) windows.push_back(kernel_json(k));
  json j = {{"program", report.program},
            {"fingerprint", report.fingerprint},
            {"instructions", r.instructions},
            {"model", model},
            {"kernels", std::move(kernels)},
            {"windows", std::move(windows)},
            {"applied", r.decisions.size()},
            {"verified", r.verified},
            {"lowering_s", r.lowering_s},
            {"ranking_s", r.ranking_s},
            {"verifying_s", r.verifying_s},
            {"seconds", report.seconds},
            {"seed", report.target.seed},
            {"threads", report.target.threads},
            {"decisions", report::decisions_object(r.decisions)},
            {"output", report.output}};
  if (!r.note.empty()) j["note"] = r.note;
  return j;
}

void print_summary(const optimize::OptimizeReport& r, const report::TuneReport& report, const std::string& model) {
  fmt::print("{}  {} instructions, {} distinct kernels, ranked by {}\n", report.program, r.instructions,
             r.kernels.size(), model);
  std::vector<const optimize::OptimizedKernel*> rows;
  for (const optimize::OptimizedKernel& k : r.kernels)
    if (k.applied) rows.push_back(&k);
  std::stable_sort(rows.begin(), rows.end(), [](auto* a, auto* b) { return a->share > b->share; });
  if (!rows.empty())
    fmt::print("  {:<36} {:<14} {:<18} {:>9} {:>8}\n", "kernel", "default", "chosen", "expected", "error");
  const auto shifted = std::count_if(r.windows.begin(), r.windows.end(), [](auto& k) { return k.applied; });
  constexpr size_t kShown = 20;
  for (size_t i = 0; i < rows.size() && i < kShown; ++i)
    fmt::print("  {:<36.36} {:<14} {:<18} {:>8.3f}x {:>8.3f}\n", rows[i]->name, rows[i]->default_value, rows[i]->chosen,
               rows[i]->gain, rows[i]->error);
  if (rows.size() > kShown) fmt::print("  and {} more\n", rows.size() - kShown);
  if (!r.windows.empty())
    fmt::print("  {} of {} operations over windows by shifted slices\n", shifted, r.windows.size());
  fmt::print("  {} of {} kernels compiled in another way; outputs {}\n", rows.size(), r.kernels.size(),
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
  result.measurement = r.check;  // of one round: all that is known of run times
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

std::unique_ptr<cost::KernelRanker> ranker_of(const OptimizeCommand& c) {
  if (c.tile_model == "analytical") return cost::analytical_ranker("", c.program->threads.value_or(1));
  return cost::learned_ranker(model_path(c));
}

optimize::OptimizeReport optimize(const OptimizeCommand& c, OpenedProgram& opened, cost::KernelRanker& ranker,
                                  const tune::Calibration& gains) {
  ProgressOptions shown;
  shown.quiet = c.output->quiet;
  Progress progress("optimize", shown);
  optimize::OptimizeOptions options = c.options;
  options.on_ranked = [&](int kernel, int kernels) {
    progress.update(kernel, kernel < kernels ? fmt::format("of {} kernels ranked", kernels) : "checking the outputs");
  };
  return optimize::optimize_program(*opened.session, ranker, gains, options);
}

// Every kernel's options in the model's order; decides nothing.
int rank_only(const OptimizeCommand& c) {
  const auto ranker = ranker_of(c);
  OpenedProgram opened = open_program(*c.program);
  const optimize::OptimizeReport result = optimize(c, opened, *ranker, {});
  json kernels = json::array();
  for (const optimize::OptimizedKernel& k : result.kernels) {
    kernels.push_back(kernel_json(k));
    for (const char* about_gains : {"chosen", "way", "lead", "gain", "error", "applied"})
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
  if (!c.calibrate.empty()) return calibrate(c);
  if (!c.windows.empty()) return calibrate_windows(c);
  if (c.program->program.empty()) throw Error("no program is given", "PROGRAM", "see hone optimize --help");
  // What cannot end well is known before the work: options, the model, and the name of the output.
  c.options.verify = !c.no_verify && !c.rank_only;
  c.options.validate();
  if (c.rank_only) return rank_only(c);
  const std::string path = report::package_path(c.out, report::program_name(c.program->program));
  report::check_replaceable(path, c.force);
  if (c.tile_model == "analytical")
    throw Error("what the analytical model's choices are worth is not known", "--tile-model",
                "--rank-only ranks by it");
  const tune::Calibration gains = known_gains(c, model_path(c));
  const auto ranker = ranker_of(c);
  OpenedProgram opened = open_program(*c.program);
  const optimize::OptimizeReport result = optimize(c, opened, *ranker, gains);

  report::Package package;
  package.report = package_report(c, opened, result, path);
  package.report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  package.file = opened.file.file;
  const auto& proto = opened.session->program().module_proto;
  package.program_bytes.assign(proto.begin(), proto.end());
  package.tuned_hlo = result.lowered.hlo;
  report::write_package(path, package, c.force);
  if (c.output->json)
    print(summary(result, package.report, ranker->name()));
  else
    print_summary(result, package.report, ranker->name());
  return 0;
}

}  // namespace

Runner declare_optimize(CLI::App& app) {
  const auto c = std::make_shared<OptimizeCommand>();
  c->output = add_output_options(app);
  c->program = add_program_options(app);
  app.get_option("PROGRAM")->required(false);  // --calibrate has none
  app.add_option("-o,--output", c->out, "the package to write (default NAME.hone); of --calibrate, the file");
  app.add_option(
      "--tile-model", c->tile_model,
      "ranks the options of each kernel: weights of hone train tile (default: the weights shipped with hone); "
      "analytical with --rank-only");
  app.add_option("--gains", c->gains,
                 "what that model's choices are worth, written by --calibrate (default: of the shipped weights)");
  app.add_option("--max-options", c->options.max_options,
                 "options of one kernel that are ranked, 0 = all (default 24: as many as the known gains are about)");
  app.add_flag("--no-verify", c->no_verify, "do not run the program to compare its outputs with default XLA's");
  app.add_flag("--rank-only", c->rank_only, "print the options of every kernel, best first, and write nothing");
  app.add_flag("--force", c->force, "replace the output even if it is no package");
  app.add_option("--calibrate", c->calibrate, "a data set of hone collect: measure what the model's choices are worth");
  app.add_option("--split", c->split, "of --calibrate: which of its programs the model was not trained on");
  app.add_option("--calibrate-windows", c->windows,
                 "a manifest of programs: measure what grouped convolutions and poolings gain by shifted slices");
  app.add_flag("--judge", c->judge,
               "of --calibrate: what choices by --gains would have done to the data set's kernels");
  app.add_option("--part", c->part, "of the split: validation (default) or test, to look at")
      ->check(CLI::IsMember({"validation", "test"}));
  return [c] { return optimize_command(*c); };
}

}  // namespace hone::cli
