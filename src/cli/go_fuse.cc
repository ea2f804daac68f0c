// hone go fuse PROGRAM: a policy proposes fusions, the simulator selects the best plans, and those are compiled by
// XLA:CPU, verified and measured against default XLA, which is the result if nothing is surely faster.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <set>

#include "base/error.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/command_tree.h"
#include "cli/go.h"
#include "cli/place_costs.h"
#include "report/package.h"
#include "sim/task_graph_json.h"
#include "tune/program/candidate_tuner.h"
#include "tune/session/timeline.h"

namespace hone::cli {

namespace {

using nlohmann::json;

struct GoFuseCommand {
  std::shared_ptr<OutputOptions> output;
  std::shared_ptr<ProgramOptions> program;
  std::shared_ptr<std::string> db;
  GoPlaceOptions place;
  std::string devices = "cpu1", costs = "roofline", weights, budget = "60s", out;
  int candidates = 4;
  bool force = false;
};

// A plan of the policy as XLA compiles it.
struct FusionProposal {
  tune::Candidate candidate;
  double simulated_seconds = 0;
  int32_t simulated_kernels = 0;
  int64_t kernels = 0;  // in XLA's program, including those that the simulator does not model
};

int64_t kernels_of(const Lowered& lowered) {
  int64_t kernels = 0;
  for (const Kernel& kernel : lowered.kernels) kernels += kernel.count;
  return kernels;
}

struct Proposals {
  std::vector<FusionProposal> list;
  double default_seconds = 0;  // simulated, of XLA's own fusion
  int64_t default_kernels = 0, same = 0, refused = 0;
  json policy;  // the reply of the learning library
};

// The best plans of the policy that XLA compiles to different programs.
Proposals propose(const GoFuseCommand& command, tune::Session& session) {
  Proposals proposals;
  const place::PlacedProgram placed = place::place_program(session);
  if (placed.program.graph.size() == 0) throw Error("the program has no operations to fuse", command.program->program);
  const sim::Topology topology = load_devices(command.devices);
  if (topology.size() != 1) throw Error("fusion is measured on one device", "--devices", "cpu1");
  const CostSource source{command.costs, command.weights, "", command.place.training.threads};
  const sim::Costs costs = operation_costs(source, &session, placed, topology);
  GoPlaceOptions options = command.place;
  options.tasks = {"fusion"};
  options.finalists = true;
  plan_with_policy(placed.program.graph, topology, costs, placed.xla_fusion, options, *command.output,
                   &proposals.policy);
  sim::Simulator simulator(placed.program.graph, topology, costs);
  proposals.default_seconds = simulator.run({{}, {}, placed.xla_fusion}).step_seconds;
  const Lowered by_default = session.lower({}, false);
  proposals.default_kernels = kernels_of(by_default);
  std::set<std::string> known = {by_default.fingerprint};
  for (const json& finalist : proposals.policy.at("finalists")) {
    if (proposals.list.size() == static_cast<size_t>(command.candidates)) break;
    sim::StepTrace trace;
    const sim::StepReport report = simulator.run(sim::plan_from_json(finalist.at("plan")), &trace);
    FusionProposal proposal;
    proposal.candidate = {fmt::format("plan {}", proposals.list.size() + 1),
                          place::fusion_decisions(placed, trace.kernels)};
    proposal.simulated_seconds = report.step_seconds;
    proposal.simulated_kernels = report.kernels;
    try {
      const Lowered lowered = session.lower(proposal.candidate.decisions, false);
      proposal.kernels = kernels_of(lowered);
      if (known.insert(lowered.fingerprint).second)
        proposals.list.push_back(std::move(proposal));
      else
        ++proposals.same;
    } catch (const Error&) {
      ++proposals.refused;
    }
  }
  proposals.policy.erase("finalists");
  return proposals;
}

json proposals_json(const Proposals& proposals, const tune::ProgramResult& result) {
  json plans = json::array();
  for (size_t i = 0; i < proposals.list.size(); ++i) {
    const FusionProposal& p = proposals.list[i];
    json plan = {{"simulated_seconds", p.simulated_seconds},
                 {"simulated_kernels", p.simulated_kernels},
                 {"kernels", p.kernels},
                 {"decisions", p.candidate.decisions.size()}};
    if (i < result.steps.size() && result.steps[i].what == p.candidate.name) {
      const tune::Measurement& m = result.steps[i].measurement;
      plan["measured"] = {{"outcome", tune::outcome_name(m.outcome)},
                          {"ratio", m.ratio},
                          {"interval", {m.ratio_low, m.ratio_high}},
                          {"note", m.note}};
    }
    plans.push_back(std::move(plan));
  }
  return {{"default", {{"simulated_seconds", proposals.default_seconds}, {"kernels", proposals.default_kernels}}},
          {"same_programs", proposals.same},
          {"refused", proposals.refused},
          {"policy", proposals.policy},
          {"plans", plans}};
}

void print_proposals(const Proposals& proposals, const tune::ProgramResult& result) {
  fmt::print("  {:<10} {:>12} {:>9} {:>9}   {}\n", "fusion", "simulated", "kernels", "of XLA", "measured gain");
  fmt::print("  {:<10} {:>9.4f} ms {:>9} {:>9}   1\n", "default", 1e3 * proposals.default_seconds, "",
             proposals.default_kernels);
  for (size_t i = 0; i < proposals.list.size(); ++i) {
    const FusionProposal& p = proposals.list[i];
    std::string gain = "not measured";
    if (i < result.steps.size() && result.steps[i].what == p.candidate.name) {
      const tune::Measurement& m = result.steps[i].measurement;
      gain = m.ok() ? fmt::format("{:.3f}x ({:.3f} to {:.3f})", m.ratio, m.ratio_low, m.ratio_high)
                    : tune::outcome_name(m.outcome);
    }
    fmt::print("  {:<10} {:>9.4f} ms {:>9} {:>9}   {}\n", p.candidate.name, 1e3 * p.simulated_seconds,
               p.simulated_kernels, p.kernels, gain);
  }
  fmt::print("\n");
}

int go_fuse(const GoFuseCommand& command) {
  const auto start = std::chrono::steady_clock::now();
  const double budget_s = parse_duration_s(command.budget, "--budget");
  const std::string path = report::package_path(command.out, report::program_name(command.program->program));
  report::check_replaceable(path, command.force);
  if (command.place.policy.empty()) shipped_go_policy(command.place.models);
  OpenedProgram opened = open_program(*command.program, budget_s);
  check_runs(opened);
  tune::Session& session = *opened.session;
  session.begin_confirmation();  // the budget is for the measurements alone
  const Proposals proposals = propose(command, session);
  Database database = open_database(*command.db);
  session.use_database(database, /*reuse_kernels=*/false);
  session.begin_search();
  tune::Timeline timeline(session);
  tune::CandidateOptions options;
  ProgressOptions shown;
  shown.quiet = command.output->quiet;
  shown.total = static_cast<double>(proposals.list.size());
  Progress progress("measuring", shown);
  double measured = 0;
  options.on_progress = [&](const std::string& what, double gain) {
    progress.update(measured++, fmt::format("{:.3f}x, {}", gain, what));
  };
  std::vector<tune::Candidate> candidates;
  for (const FusionProposal& proposal : proposals.list) candidates.push_back(proposal.candidate);
  const tune::ProgramResult result = tune::tune_candidates(timeline, candidates, options);

  report::Package package;
  package.report = report::make_report(session, result);
  package.report.timeline = timeline.trials();
  package.report.inputs = opened.inputs;
  package.report.budget_s = budget_s;
  package.report.output = path;
  package.report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  package.file = opened.file.file;
  const auto& proto = session.program().module_proto;
  package.program_bytes.assign(proto.begin(), proto.end());
  package.tuned_hlo = result.lowered.hlo;
  report::write_package(path, package, command.force);
  json summary = report::summary_json(package.report);
  summary["fusion"] = proposals_json(proposals, result);
  if (command.output->json) {
    print(summary);
  } else {
    print_proposals(proposals, result);
    fmt::print("{}", report::report_text(package.report));
  }
  return 0;
}

}  // namespace

void declare_go_fuse(CLI::App& app, const std::shared_ptr<Runner>& chosen) {
  CLI::App* sub = app.add_subcommand(
      "fuse", "fuse a program by a policy, compile it with XLA:CPU and measure it against its default");
  const auto c = std::make_shared<GoFuseCommand>();
  c->program = add_program_options(*sub);
  c->db = add_database_option(*sub);
  sub->add_option(kPolicyFile, c->place.policy, "policy of hone go train (default: the one that comes with hone)")
      ->type_name("FILE");
  add_models_option(*sub, c->place.models);
  sub->add_option("--samples", c->place.samples,
                  "variants simulated in every step, 0 to 4096; 0: only the policy's own decisions (default 16)")
      ->check(within(0, 4096));
  sub->add_option("--iterations", c->place.training.iterations,
                  "episodes of training on this program before the answer (default 0)")
      ->check(not_negative());
  sub->add_option("--candidates", c->candidates,
                  "plans that are measured, 1 to 8, the best by the simulator (default 4)")
      ->check(within(1, 8));
  offer(sub->add_option("--devices", c->devices,
                        fmt::format("topology of the simulated machine, with one device: a file (TOML) or one of {} "
                                    "(default cpu1)",
                                    fmt::join(device_presets(), ", ")))
            ->type_name("FILE"),
        device_presets());
  add_cost_options(*sub, c->costs, c->weights);
  sub->add_option("--budget", c->budget, "time of the measurements, as 90s or 2m (default 60s)")->type_name("DURATION");
  sub->add_option("-o,--output", c->out, "package to write (default NAME.hone)")->type_name("FOLDER");
  sub->add_flag("--force", c->force, "replace the output even if it is not a package");
  c->output = add_output_options(*sub);
  sub->final_callback([chosen, c] {
    *chosen = [c] {
      GoFuseCommand command = *c;
      command.place.training.seed = command.program->seed.value_or(0);
      command.place.training.threads = command.program->threads.value_or(1);
      return go_fuse(command);
    };
  });
}

}  // namespace hone::cli
