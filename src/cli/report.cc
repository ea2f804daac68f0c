// hone report NAME.hone: the results and the search of a tune as one HTML page; with --trace also as a trace for
// Perfetto.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/version.h"
#include "cost/ensemble.h"
#include "cost/kernel_ranker.h"
#include "cost/learn_library.h"
#include "graph/hlo_reader.h"
#include "report/html_report.h"
#include "report/perfetto_trace.h"
#include "request/package_use.h"

namespace hone::cli {

namespace {

namespace fs = std::filesystem;

struct ReportCommand {
  std::shared_ptr<OutputOptions> output;
  std::shared_ptr<std::string> db;
  std::string package, out, trace, model_file, analytical;
  bool profile = false, no_graph = false, force = false;
  nlohmann::json used = nullptr;  // out: what of the package runs here; null where XLA is not started
};

report::TuneReport read_report(const std::string& package, const report::LoadedPackage& loaded) {
  const std::string path = (fs::path(package) / "report.json").string();
  if (!fs::exists(path)) throw Error("the package has no report.json", package, "tune the program again");
  const auto object = nlohmann::json::parse(shallow_json(read_file(path)), nullptr, /*allow_exceptions=*/false);
  if (object.is_discarded()) throw Error("the report is damaged: not JSON", path, "tune the program again");
  report::TuneReport report = report::report_from_json(object, path);
  report.decisions = loaded.decisions;
  return report;
}

// The page may be a new file or replace an older page.
void check_output(const ReportCommand& c, const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) throw Error("the output is a folder", path, "name a file with -o");
  if (c.force || !fs::is_regular_file(path, ignored)) return;
  if (!report::is_html_page(read_file(path)))
    throw Error("the output exists and is no report of ours", path, "name another with -o, or use --force");
}

void add_rows(const ReportCommand& c, report::ReportInput& input) {
  if (c.db->empty() && !fs::exists(database_path(*c.db))) return;
  const Database database = open_existing_database(*c.db);
  const report::TuneReport& r = input.report;
  for (const tune::KernelReport& k : r.kernels)
    input.rows[k.fingerprint] = database.find_kernel(k.fingerprint, r.host, r.target.threads, r.xla_version);
}

report::DrawnGraph draw(const wire::LowerReplyT& lowered) {
  std::map<std::string, std::string> kernels;
  for (const auto& kernel : lowered.kernels)
    for (const std::string& name : kernel->instructions) kernels[name] = kernel->fingerprint;
  const std::string_view proto(reinterpret_cast<const char*>(lowered.module_proto.data()), lowered.module_proto.size());
  return report::draw_graph(read_hlo_graph(proto), kernels);
}

constexpr double kProfiledNs = 300e6;  // limit for all profiled runs of one program, unless few runs take longer
constexpr int kLeastProfiled = 7, kMostProfiled = 25;

report::RunProfile profiled(tune::Session& session, const Decisions& decisions, double run_ns) {
  return report::profile_runs(
      session, decisions,
      static_cast<int>(std::clamp(kProfiledNs / std::max(1.0, run_ns), 1.0 * kLeastProfiled, 1.0 * kMostProfiled)));
}

// Run times of the kernel's options in this package.
std::map<std::string, double> measured_times(const tune::KernelReport& kernel, const report::TuneReport& report) {
  std::map<std::string, double> times;
  const auto add = [&](const std::string& value, double ratio) {
    if (ratio > 0) times[value] = kernel.default_ns / ratio;
  };
  add(kernel.default_value, 1);
  for (const tune::Trial& t : report.timeline)
    if (t.scope == "kernel" && t.kernel == kernel.fingerprint && t.outcome == tune::Outcome::Ok) add(t.what, t.ratio);
  for (const tune::Tried& t : kernel.top)
    if (t.measurement.ok()) add(t.value, t.measurement.ratio);
  if (kernel.improved()) add(kernel.chosen, kernel.gain);
  return times;
}

using Predict = std::function<std::vector<double>(const KernelView&)>;

// The given model; none if none is given.
Predict predictor(const ReportCommand& c, const tune::Target& target, std::string& name) {
  const features::Cpu cpu = features::this_cpu(target.threads, target.max_isa);
  if (!c.model_file.empty()) {
    std::shared_ptr<cost::LearnedModel> learned = cost::load_learned_model(c.model_file, cpu);
    if (!learned->predicts_runtime())
      throw Error("these weights rank options and predict no run times", c.model_file,
                  "weights of hone train fusion do");
    name = learned->name();
    return [learned](const KernelView& kernel) { return learned->predict(kernel); };
  }
  if (c.analytical.empty()) return nullptr;
  const std::string path = c.analytical == "default" ? "" : c.analytical;
  const std::shared_ptr<cost::LearnedModel> analytical = cost::analytical_member(path, "fusion", cpu);
  name = path.empty() ? "the analytical model, not fitted to this machine" : "the analytical model";
  return [analytical](const KernelView& kernel) { return analytical->predict(kernel); };
}

void add_predictions(const Predict& predict, tune::Session& session, report::ReportInput& input) {
  std::map<std::string, Kernel> kernels;
  for (const Decisions& decisions : {Decisions(), input.report.decisions})
    for (Kernel& kernel : session.lower(decisions, /*want_fusion=*/false).kernels)
      kernels.emplace(kernel.fingerprint, std::move(kernel));
  for (const tune::KernelReport& report : input.report.kernels) {
    const auto kernel = kernels.find(report.fingerprint);
    if (kernel == kernels.end() || kernel->second.module.empty() || report.default_ns <= 0) continue;
    std::vector<std::string> options;
    const std::map<std::string, double> times = measured_times(report, input.report);
    for (const auto& [option, ns] : times) options.push_back(option);
    const std::vector<double> predicted = predict(cost::EncodedOptions(kernel->second, options).view());
    for (size_t i = 0; i < options.size(); ++i)
      input.predictions.push_back({report.name, options[i], predicted[i], times.at(options[i])});
  }
}

// Lowers the program twice, by default XLA and under the decisions. If this fails, for example because this machine's
// XLA cannot read the program, the report shows the failure instead of the drawings.
void add_graphs(ReportCommand& c, const Predict& predict, report::ReportInput& input) {
  if (c.no_graph) {
    input.no_graphs = "It was left out by --no-graph.";
    return;
  }
  try {
    ProgramOptions program;
    program.program = c.package;
    OpenedProgram opened = open_program(program);
    const std::optional<request::PackageUse> used = request::use_package(opened);
    c.used = used->json();
    if (!used->fit.as_tuned) {
      input.no_graphs = fmt::format("The tuned program does not run on this machine: {}.", fit_text(used->fit));
      return;
    }
    const wire::LowerReplyT before = opened.session->lower_reply({}, false);
    const wire::LowerReplyT after = opened.session->lower_reply(input.report.decisions, false);
    // Packages of older versions do not have XLA's default tile.
    for (tune::KernelReport& report : input.report.kernels)
      for (const auto* reply : {&before, &after})
        for (const auto& kernel : reply->kernels)
          if (kernel->fingerprint == report.fingerprint && report.default_tile.empty())
            report.default_tile = kernel->default_tile;
    input.before = draw(before);
    input.after = draw(after);
    if (c.profile || !c.trace.empty()) {
      input.before_profile = profiled(*opened.session, {}, input.report.default_ns);
      input.after_profile = profiled(*opened.session, input.report.decisions, input.report.default_ns);
      if (input.before_profile->slices.empty()) spdlog::warn("XLA has no profiler here: there are no profiles of runs");
    }
    if (predict) add_predictions(predict, *opened.session, input);
    if (after.fingerprint != input.report.tuned_fingerprint)
      input.no_graphs = "XLA lowers the tuned program differently here than where it was tuned.";
  } catch (const Error& failed) {
    spdlog::warn("the report has no graphs: {}", failed.what());
    input.no_graphs = fmt::format("The program could not be lowered again: {}", failed.what());
  }
}

int report_command(ReportCommand& c, const std::string& version) {
  const report::LoadedPackage package = report::read_package(c.package);
  report::ReportInput input;
  input.report = read_report(c.package, package);
  input.file = package.file;
  input.hone_version = version;
  const std::string path = c.out.empty() ? report::program_name(c.package) + ".html" : c.out;
  check_output(c, path);
  const Predict predict = predictor(c, input.report.target, input.predicted_by);  // before XLA starts
  if (!c.trace.empty()) report::perfetto_trace(input.report);  // throws before the work if there is no timeline
  add_rows(c, input);
  add_graphs(c, predict, input);
  std::string trace;
  const auto given = [](const std::optional<report::RunProfile>& profile) { return profile ? &*profile : nullptr; };
  if (!c.trace.empty())
    trace = report::perfetto_trace(input.report, given(input.before_profile), given(input.after_profile));
  const std::string page = report::html_page(report::page_model(input));
  write_file(path, page);
  if (!c.trace.empty()) write_file(c.trace, trace);
  if (c.output->json) {
    print({{"program", input.report.program},
           {"output", path},
           {"bytes", page.size()},
           {"trace", c.trace.empty() ? nlohmann::json(nullptr) : nlohmann::json(c.trace)},
           {"kernels", input.report.kernels.size()},
           {"candidates", input.report.timeline.size()},
           {"graphs", input.before.has_value()},
           {"predictions", input.predictions.size()},
           {"profiled", input.before_profile && !input.before_profile->slices.empty()},
           {"package", c.used}});
  } else {
    fmt::print("written to {} ({})\n", path, human_bytes(static_cast<double>(page.size())));
    if (!c.trace.empty()) fmt::print("trace written to {}: open it at ui.perfetto.dev\n", c.trace);
  }
  return 0;
}

}  // namespace

Runner declare_report(CLI::App& app) {
  const auto c = std::make_shared<ReportCommand>();
  app.add_option("PACKAGE", c->package, "tuned program, NAME.hone")->required()->type_name("");
  app.add_option("--trace", c->trace,
                 "file for a trace of the search and of runs under XLA's profiler, for ui.perfetto.dev")
      ->type_name("FILE");
  app.add_flag("--profile", c->profile, "run both programs under XLA's profiler and show where the time goes");
  app.add_option(kModelFile, c->model_file,
                 "weights of hone train fusion (safetensors) whose predictions are compared with measurements")
      ->type_name("FILE");
  app.add_option(
         "--analytical", c->analytical,
         "analytical model whose predictions are compared: the file of one fitted by hone eval --save, or default")
      ->excludes("--model-file")
      ->type_name("FILE");
  app.add_flag("--no-graph", c->no_graph, "leave out the fusion graphs, so that XLA is not started");
  c->db = add_database_option(app);
  app.add_option("-o,--output", c->out, "page to write (default NAME.html)")->type_name("FILE");
  app.add_flag("--force", c->force, "replace the output even if it is not a report");
  c->output = add_output_options(app);
  return [c] { return report_command(*c, "hone " + this_version().hone); };
}

}  // namespace hone::cli
