#include <fmt/core.h>

#include "base/error.h"
#include "base/isa.h"
#include "base/log.h"
#include "base/stats.h"
#include "base/text.h"
#include "cli/cli.h"
#include "data/npz.h"
#include "graph/hlo_reader.h"
#include "report/run_profile.h"
#include "request/against.h"
#include "request/package_use.h"

namespace hone::cli {

namespace {

using nlohmann::json;

struct RunOptions {
  std::shared_ptr<OutputOptions> output;
  std::shared_ptr<ProgramOptions> program;
  int repeat = 10;
  bool compare = false, profile = false;
  std::string against;         // another runtime to compare with
  std::string budget = "10s";  // of the duel
  std::string outputs;         // .npz to write
};

using Used = std::optional<request::PackageUse>;

// An object of the run's result, with what is known about a package.
void print_with(json object, const Used& used) {
  if (used) object["package"] = used->json();
  print(object);
}

std::string threads_text(int threads) { return fmt::format("{} thread{}", threads, threads == 1 ? "" : "s"); }

void write_run_outputs(const std::string& path, const std::vector<std::unique_ptr<wire::ArrayT>>& outputs) {
  std::vector<NamedArray> arrays;
  for (size_t i = 0; i < outputs.size(); ++i)
    arrays.push_back({"arr_" + std::to_string(i), outputs[i]->type, outputs[i]->dims, outputs[i]->data});
  write_npz(path, arrays);
}

int run_program(const RunOptions& options, OpenedProgram& opened, const Used& used) {
  const wire::RunReplyT reply = opened.session->run(decisions_of(used), options.repeat, !options.outputs.empty());
  if (reply.times_ns.empty()) throw RunError("the worker reported no run", opened.file.name);
  if (!options.outputs.empty()) write_run_outputs(options.outputs, reply.outputs);
  const double middle = median(reply.times_ns);
  const double least = quantile(reply.times_ns, 0), low = quantile(reply.times_ns, 0.25),
               high = quantile(reply.times_ns, 0.75);
  const tune::Target& target = opened.session->target();
  if (options.output->json) {
    json j = {{"program", opened.file.name}, {"fingerprint", reply.fingerprint},
              {"median_ns", middle},         {"min_ns", least},
              {"quartiles_ns", {low, high}}, {"times_ns", reply.times_ns},
              {"seed", target.seed},         {"threads", target.threads},
              {"inputs", opened.inputs},     {"isa", isa_in_effect(target.max_isa)}};
    j["outputs"] = options.outputs.empty() ? json(nullptr) : json(options.outputs);
    print_with(std::move(j), used);
  } else {
    fmt::print("{}: {} median of {} runs, {} least, middle half {} to {}, {}\n", opened.file.name, human_ns(middle),
               reply.times_ns.size(), human_ns(least), human_ns(low), human_ns(high), threads_text(target.threads));
  }
  return 0;
}

json to_json(const request::AgainstJaxlib& a) {
  return {{"runtime", "jaxlib"},
          {"version", a.jaxlib},
          {"stock_ns", a.stock_ns},
          {"default_ns", a.default_ns},
          {"tuned_ns", a.tuned_ns},
          {"speedup", a.tuned.ratio},
          {"speedup_interval", {a.tuned.low, a.tuned.high}},
          {"default_speedup", a.by_default.ratio},
          {"default_speedup_interval", {a.by_default.low, a.by_default.high}},
          {"turns", a.turns},
          {"clock", a.cpu_time ? "cpu" : "wall"},
          {"first_call_s", a.first_call_s},
          {"verified", a.outputs.ok()},
          {"max_error", a.outputs.max_error},
          {"note", a.outputs.note}};
}

void print_against(const request::AgainstJaxlib& a, int threads) {
  fmt::print(
      "  stock jaxlib {}: {}; beside it default {}, {:.3f}x [{:.3f}, {:.3f}], tuned {}, {:.3f}x [{:.3f}, {:.3f}], {} "
      "turns, {} thread{} each, {}\n",
      a.jaxlib, human_ns(a.stock_ns), human_ns(a.default_ns), a.by_default.ratio, a.by_default.low, a.by_default.high,
      human_ns(a.tuned_ns), a.tuned.ratio, a.tuned.low, a.tuned.high, a.turns, threads, threads == 1 ? "" : "s",
      a.outputs.ok() ? "outputs verified" : "jaxlib's outputs NOT verified: " + a.outputs.note);
}

int compare_with_default(const RunOptions& options, OpenedProgram& opened, const Used& used) {
  const double budget_s = parse_duration_s(options.budget, "--budget");
  const tune::Duel duel{.min_rounds = 15,
                        .max_rounds = 200,
                        .budget_ms = 1e3 * budget_s,
                        .precision = 0.005,
                        .abandon_ratio = 0,
                        .limit_s = 600 + 3 * budget_s};
  opened.session->begin_confirmation();  // the session's budget does not end a duel that the user asked for
  const tune::Measurement m = opened.session->measure_program(decisions_of(used), {}, duel);
  if (!m.ok() && !m.rejected())
    throw RunError(fmt::format("the duel failed ({}): {}", tune::outcome_name(m.outcome), m.note), opened.file.name);
  if (!options.outputs.empty())
    write_run_outputs(options.outputs, opened.session->run(decisions_of(used), 1, true).outputs);
  std::optional<request::AgainstJaxlib> against;
  if (!options.against.empty())
    against = request::run_against_jaxlib(*opened.session, decisions_of(used), budget_s, options.output->quiet);
  const tune::Target& target = opened.session->target();
  if (options.output->json) {
    json j = {{"program", opened.file.name},
              {"speedup", m.ratio},
              {"speedup_interval", {m.ratio_low, m.ratio_high}},
              {"verified", m.ok()},
              {"default_ns", m.baseline_ns},
              {"tuned_ns", m.candidate_ns},
              {"rounds", m.rounds},
              {"max_error", m.max_error},
              {"seed", target.seed},
              {"threads", target.threads},
              {"isa", isa_in_effect(target.max_isa)}};
    if (!m.note.empty()) j["note"] = m.note;
    if (against) j["against"] = to_json(*against);
    print_with(std::move(j), used);
  } else {
    fmt::print("{}: default {}, tuned {}, {:.3f}x [{:.3f}, {:.3f}], {} rounds, {}, {}\n", opened.file.name,
               human_ns(m.baseline_ns), human_ns(m.candidate_ns), m.ratio, m.ratio_low, m.ratio_high, m.rounds,
               threads_text(target.threads), m.ok() ? "outputs verified" : "outputs NOT verified: " + m.note);
    if (against) print_against(*against, target.threads);
  }
  return m.ok() && (!against || against->outputs.ok()) ? 0 : 1;
}

// Where the time goes, by opcode of the lowered program.
int profile_program(const RunOptions& options, OpenedProgram& opened, const Used& used) {
  const report::RunProfile profile = report::profile_runs(*opened.session, decisions_of(used), options.repeat);
  if (profile.slices.empty()) throw RunError("XLA has no profiler here", opened.file.name);
  const auto lowered = opened.session->lower_reply(decisions_of(used), /*want_fusion=*/false);
  const std::string_view proto(reinterpret_cast<const char*>(lowered.module_proto.data()), lowered.module_proto.size());
  const std::vector<report::TimeShare> shares = report::time_by_opcode(profile, read_hlo_graph(proto));
  double all = 0, library = 0;
  for (const report::TimeShare& share : shares) {
    all += share.ns;
    if (share.library) library += share.ns;
  }
  if (options.output->json) {
    json rows = json::array();
    for (const report::TimeShare& s : shares)
      rows.push_back({{"opcode", s.opcode}, {"instructions", s.instructions}, {"ns", s.ns}, {"library", s.library}});
    print_with({{"program", opened.file.name},
                {"run_ns", profile.run_ns},
                {"runs", profile.runs},
                {"library_share", all > 0 ? library / all : 0},
                {"opcodes", std::move(rows)}},
               used);
    return 0;
  }
  fmt::print("{}: {} least of {} runs without the profiler\n", opened.file.name, human_ns(profile.run_ns),
             profile.runs);
  fmt::print("  {:<24} {:>12} {:>12} {:>8}\n", "opcode", "instructions", "time", "share");
  for (const report::TimeShare& s : shares)
    fmt::print("  {:<24} {:>12} {:>12} {:>7.1f}%{}\n", s.opcode, s.instructions, human_ns(s.ns), 100 * s.ns / all,
               s.library ? "  library" : "");
  fmt::print("  in libraries {:.1f}%, where only the choice of the library can be tuned\n", 100 * library / all);
  return 0;
}

// For programs that are no package; use_package() says it for packages.
void warn_of_threads(OpenedProgram& opened) {
  Fit fit;
  compare_threads(opened.session->target().threads, opened.session->made_with(""), fit);
  if (!fit.differences.empty()) spdlog::warn("{}: {}", opened.file.name, fit.differences.front());
}

int run_command(const RunOptions& options) {
  if (options.repeat < 1) throw Error("a program must run at least once", "--repeat");
  if (options.profile && (options.compare || !options.outputs.empty()))
    throw Error("profiled runs are neither compared nor written", "--profile", "leave out --compare and --outputs");
  if (!options.against.empty() && !options.compare)
    throw Error("it is part of a comparison", "--against", "add --compare");
  OpenedProgram opened = open_program(*options.program);
  check_runs(opened);
  const Used used = request::use_package(opened);
  if (!used) warn_of_threads(opened);
  if (options.profile) return profile_program(options, opened, used);
  return options.compare ? compare_with_default(options, opened, used) : run_program(options, opened, used);
}

}  // namespace

Runner declare_run(CLI::App& app) {
  const auto options = std::make_shared<RunOptions>();
  options->program = add_program_options(app, Threads::AllCores);
  app.add_option("--repeat", options->repeat, "number of timed runs (default 10)");
  app.add_flag("--compare", options->compare, "compare with default XLA in an interleaved duel");
  app.add_option("--against", options->against,
                 "with --compare: compare with another runtime as well, in a process of its own and by turns: jaxlib")
      ->check(one_of({"jaxlib"}))
      ->type_name("NAME");
  app.add_flag("--profile", options->profile, "run under XLA's profiler and show where the time goes, by opcode");
  app.add_option("--budget", options->budget, "time of the duel, as 10s or 1m (default 10s)")->type_name("DURATION");
  app.add_option("--outputs", options->outputs, "file for the program's outputs (.npz)")->type_name("FILE");
  options->output = add_output_options(app);
  return [options] { return run_command(*options); };
}

}  // namespace hone::cli
