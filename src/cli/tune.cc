#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/fleet.h"
#include "cli/tune_joint.h"
#include "cost/kernel_ranker.h"
#include "cost/shipped.h"
#include "graph/layout_choice.h"
#include "report/report.h"
#include "search/strategies.h"
#include "tune/kernel/calibration.h"
#include "tune/program/layout_tuner.h"
#include "tune/program/program_tuner.h"

namespace hone::cli {

namespace {

using tune::Duel;

struct TuneCommand {
  std::shared_ptr<OutputOptions> output;
  std::shared_ptr<ProgramOptions> program;
  std::shared_ptr<FleetOptions> fleet;
  std::shared_ptr<std::string> db;
  std::string budget = "60s", out, strategy, tile_model = "shipped";
  int top_k = 0;
  std::string fusion_model = "shipped", fusion_budget, fusion_start = "default";
  int fusion_chains = 4, fusion_workers = 1;
  JointOptions joint;
  bool force = false, fresh = false, no_fusion = false, fusion_only = false, exhaustive = false;

  // A reference for other searches: it neither takes results from the database nor leaves any there.
  bool reference() const { return exhaustive || fusion_only || layouts(); }
  bool layouts() const { return joint.layouts_alone(); }
  // What the search may know of other programs and leave behind for them.
  bool learns() const { return !reference() && !fresh; }
};

// The short duel a result known from the database must still win, and the longer one when it does not.
constexpr Duel kReconfirm{.min_rounds = 9, .max_rounds = 40, .budget_ms = 1500, .precision = 0.01, .limit_s = 300};
constexpr Duel kReconfirmLonger{
    .min_rounds = 25, .max_rounds = 100, .budget_ms = 6000, .precision = 0.004, .limit_s = 300};

Tuned key_of(const OpenedProgram& opened, const TuneCommand& command) {
  tune::Session& session = *opened.session;
  const tune::Target& target = session.target();
  Tuned key;
  key.program = session.program().program;
  key.host = session.host();
  key.threads = target.threads;
  key.weights = tune::index_list_text(target.weights);
  key.xla_version = session.worker_info().xla_version;
  key.options =
      fmt::format("fast_math={};fusion={};seed={};inputs={}", int{target.allow_fast_math}, int{!command.no_fusion},
                  target.seed, session.inputs_fingerprint().empty() ? "generated" : session.inputs_fingerprint());
  for (DecisionKind kind : command.joint.kinds()) key.options += std::string(";decides=") + decision_kind_name(kind);
  return key;
}

// The result of an earlier tune, if it still holds.
std::optional<tune::ProgramResult> from_database(const Database& database, const Tuned& key, tune::Measurer& measurer) {
  const std::optional<Tuned> known = database.find_tuned(key);
  if (!known) return std::nullopt;
  const auto list = nlohmann::json::parse(known->decisions, nullptr, /*allow_exceptions=*/false);
  const Decisions decisions = report::decisions_from_list(list, "the database");
  tune::ProgramResult result;
  for (const Duel& duel : {kReconfirm, kReconfirmLonger, kReconfirmLonger}) {
    measurer.fresh_process();  // where a process's memory lies alone can make the result look slower
    result = tune::confirm_decisions(measurer, decisions, duel);
    if (!result.steps.back().kept) continue;
    spdlog::info("known from the database ({:.0f} s of search, {} candidates); --fresh searches again", known->seconds,
                 known->candidates);
    result.kernels = tune::known_kernels(result.lowered.kernels, measurer);
    tune::mark_kept(result);
    return result;
  }
  spdlog::info("the result in the database no longer holds: searching again");
  return std::nullopt;
}

void save(Database& database, Tuned key, const report::TuneReport& report) {
  // What an impatient user left behind is no final result; a program whose outputs prove nothing has none.
  if (interrupted() || !report.verified) return;
  key.decisions = report::decisions_list(report.decisions).dump();
  key.default_ns = report.default_ns;
  key.tuned_ns = report.tuned_ns;
  key.speedup = report.speedup;
  key.speedup_low = report.speedup_low;
  key.speedup_high = report.speedup_high;
  key.verified = report.verified;
  key.candidates = report.counters.candidates;
  key.seconds = report.seconds;
  key.seed = report.target.seed;
  database.save_tuned(key);
}

// Null without a model: none was wanted, or none is shipped with this build.
std::unique_ptr<cost::KernelRanker> ranker_of(const TuneCommand& command) {
  const std::string& model = command.tile_model;
  if (model == "none" || command.exhaustive) return nullptr;
  if (model == "analytical") return cost::analytical_ranker("", command.program->threads.value_or(1));
  if (model != "shipped") return cost::learned_ranker(model);
  const std::string weights = cost::shipped_tile_weights();
  if (weights.empty()) return nullptr;
  try {
    return cost::learned_ranker(weights);
  } catch (const Error& e) {
    spdlog::debug("tuning without a model of tiles: {}", e.what());
    return nullptr;
  }
}

// Null as above.
std::unique_ptr<tune::FusionModel> fusion_model_of(const TuneCommand& command) {
  const std::string& model = command.fusion_model;
  const int threads = command.program->threads.value_or(1);
  if (model == "none" || command.no_fusion || command.exhaustive) return nullptr;
  if (model != "shipped") return tune::open_fusion_model(model, threads);
  const std::string weights = cost::shipped_model("fusion");
  if (weights.empty()) return nullptr;
  try {
    return tune::open_fusion_model(weights, threads);
  } catch (const Error& e) {
    spdlog::debug("tuning without a model of fusion: {}", e.what());
    return nullptr;
  }
}

// The model of fusion and the workers it may ask: the search's own, and as many more as wanted.
class FusionWorkers {
 public:
  FusionWorkers(const TuneCommand& command, std::unique_ptr<tune::FusionModel> model, tune::Session& session)
      : model_(std::move(model)) {
    if (!model_) return;
    add_lane(session);
    for (int i = 1; i < command.fusion_workers; ++i) {
      more_.push_back(open_program(*command.program));
      add_lane(*more_.back().session);
    }
  }
  tune::FusionPlan plan(const TuneCommand& command) {
    tune::FusionPlan plan;
    plan.model = model_.get();
    plan.lanes = lanes_;
    if (!command.fusion_budget.empty()) plan.budget_s = parse_duration_s(command.fusion_budget, "--fusion-budget");
    plan.chains = command.fusion_chains;
    plan.random_start = command.fusion_start == "random";
    plan.only = command.fusion_only;
    return plan;
  }

 private:
  void add_lane(tune::Session& session) {
    lanes_.push_back({[&session](const Decisions& decisions) { return session.lower_kernels(decisions); },
                      [&session] { return session.seconds_left(); }});
  }

  std::unique_ptr<tune::FusionModel> model_;
  std::vector<OpenedProgram> more_;
  std::vector<tune::FusionLane> lanes_;
};

nlohmann::json fusion_json(const tune::FusionSearchReport& r) {
  const auto ns = [](double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr); };
  const auto candidates = [&](const std::vector<tune::FusionCandidate>& list) {
    nlohmann::json array = nlohmann::json::array();
    for (const tune::FusionCandidate& c : list)
      array.push_back({{"predicted_ns", ns(c.predicted_ns)}, {"decisions", c.decisions.size()}});
    return array;
  };
  return {{"own_ns", ns(r.own_ns)},
          {"start_ns", ns(r.start_ns)},
          {"configurations", r.configurations},
          {"programs", r.programs},
          {"failed", r.failed},
          {"kernels", r.kernels},
          {"seconds", r.seconds},
          {"model_s", r.model_s},
          {"per_minute", r.per_minute()},
          {"best", candidates(r.best)},
          {"elsewhere", candidates(r.from_diverse_starts)}};
}

tune::ProgramResult search(const TuneCommand& command, tune::TuneOptions options, tune::Session& session,
                           tune::Measurer& measurer) {
  ProgressOptions shown;
  shown.budget_s = options.budget_s;
  shown.quiet = command.output->quiet;
  Progress progress("tune", shown);
  options.seed = session.target().seed;
  options.fusion = !command.no_fusion;
  options.kernels_only = command.exhaustive;
  if (command.exhaustive) {
    options.kernel.exhaustive_limit = std::numeric_limits<int>::max() / 2;
    options.kernel.quick = options.kernel.careful;
  }
  options.on_progress = [&](const std::string& what, double gain) {
    progress.update(static_cast<double>(session.counters().candidates), fmt::format("{:.3f}x, {}", gain, what));
  };
  return tune::tune_program(measurer, options);
}

tune::ProgramResult search_layouts(const TuneCommand& command, double budget_s, tune::Session& session,
                                   tune::Measurer& measurer) {
  ProgressOptions shown;
  shown.budget_s = budget_s;
  shown.quiet = command.output->quiet;
  Progress progress("tune", shown);
  tune::LayoutTuneOptions options;
  options.budget_s = budget_s;
  options.seed = session.target().seed;
  options.measured = command.joint.layouts_measured;
  if (!command.strategy.empty()) options.strategy = command.strategy;
  if (!command.joint.layout_model.empty())
    options.ranker = tune::learned_layout_ranker(command.joint.layout_model, session.target().threads);
  options.on_progress = [&](const std::string& what, double gain) {
    progress.update(static_cast<double>(session.counters().candidates), fmt::format("{:.3f}x, {}", gain, what));
  };
  session
      .begin_confirmation();  // the space is no part of the search: its time does not count, and without it there is none
  const tune::LayoutSpace layouts = tune::layout_space_from(session.list_layouts());
  session.begin_search();
  return tune::tune_layouts(measurer, layouts, options);
}

void check_joint_options(const TuneCommand& command) {
  const std::set<DecisionKind> kinds = command.joint.kinds();
  const bool some = !kinds.empty();
  if (some && !kinds.contains(DecisionKind::Layout) && !command.joint.layout_model.empty())
    throw Error("a model of layouts decides layouts", "--layout-model", "add layout to --decide");
  if (some && (command.exhaustive || command.fusion_only))
    throw Error("--exhaustive and --fusion-only say themselves what is decided", "--decide", "leave one of them out");
  if (some && command.no_fusion && kinds.contains(DecisionKind::Fusion))
    throw Error("fusion cannot be decided and left as it is", "--no-fusion", "leave fusion out of --decide");
  if (!command.joint.layout_model.empty()) tune::learned_layout_ranker(command.joint.layout_model, 1);
}

// A digest of what ranks the options of kernels.
std::string ranker_digest(const TuneCommand& command) {
  if (command.tile_model == "analytical") return command.tile_model;
  return tune::weights_fingerprint(command.tile_model == "shipped" ? cost::shipped_tile_weights() : command.tile_model);
}

// Layouts alone are ranked by the weights that come with hone, unless a search was asked for.
void settle_layout_model(TuneCommand& command) {
  std::string& model = command.joint.layout_model;
  if (model.empty() && command.layouts() && command.strategy.empty())
    model = cost::shipped_model("layout/ranker.safetensors");
  if (model == "none") model.clear();
}

int tune_command(const TuneCommand& command) {
  const auto start = std::chrono::steady_clock::now();
  const double budget_s = parse_duration_s(command.budget, "--budget");
  // What cannot end well is known before the work: options and the name of the output.
  tune::TuneOptions options;
  options.budget_s = budget_s;
  options.strategy = command.strategy;
  const std::unique_ptr<cost::KernelRanker> ranker = ranker_of(command);
  options.kernel.ranker = ranker.get();
  options.kernel.top_k = command.top_k;
  options.validate();
  if (command.fusion_only && (command.no_fusion || command.exhaustive))
    throw Error("fusion alone cannot go without fusion", "--fusion-only", "leave out --no-fusion and --exhaustive");
  if (!command.fusion_budget.empty()) parse_duration_s(command.fusion_budget, "--fusion-budget");
  check_joint_options(command);
  std::unique_ptr<tune::FusionModel> fusion_model = fusion_model_of(command);
  const std::string path = report::package_path(command.out, report::program_name(command.program->program));
  report::check_replaceable(path, command.force);
  if (command.fleet->elsewhere())
    tune_on_fleet(*command.fleet, command.program->program, database_path(*command.db), path, budget_s);

  OpenedProgram opened = open_program(*command.program, budget_s + command.fleet->allowance_s());
  tune::Session& session = *opened.session;
  FusionWorkers fusion(command, std::move(fusion_model), session);
  options.fusion_plan = fusion.plan(command);
  const bool again = command.fresh || command.reference();
  Database database = open_database(*command.db);  // a program that cannot be read leaves no file behind
  session.use_database(database, /*reuse_kernels=*/!again);
  Joint joint(command.joint, *command.program, opened, budget_s);
  joint.equip(options);
  if (command.learns())
    joint.learn(options, database, database_path(*command.db), ranker ? ranker_digest(command) : "");
  if (const auto& kernels = command.fleet->kernels; !kernels.empty()) {
    print(tune_listed_kernels(session, kernels, options.kernel, budget_s, session.target().seed));
    return 0;
  }
  const Tuned key = key_of(opened, command);
  std::optional<tune::ProgramResult> result;
  tune::Timeline timeline(session);
  if (!again) result = from_database(database, key, timeline);
  const bool known = result.has_value();
  if (!known) {
    session.begin_search();
    result = command.layouts() ? search_layouts(command, budget_s, session, timeline)
                               : search(command, options, session, timeline);
  }

  report::Package package;
  package.report = report::make_report(session, *result);
  package.report.known = known;
  package.report.timeline = timeline.trials();
  package.report.inputs = opened.inputs;
  package.report.budget_s = budget_s;
  package.report.output = path;
  package.report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  package.file = opened.file.file;
  const auto& proto = session.program().module_proto;
  package.program_bytes.assign(proto.begin(), proto.end());
  package.tuned_hlo = result->lowered.hlo;
  report::write_package(path, package, command.force);
  if (!known && !command.reference()) save(database, key, package.report);
  nlohmann::json summary = report::summary_json(package.report);
  if (result->fusion) summary["fusion_search"] = fusion_json(*result->fusion);
  if (const nlohmann::json learned = joint.report(); !known && learned.is_object()) summary.update(learned);
  if (command.output->json)
    print(summary);
  else
    fmt::print("{}{}", report::report_text(package.report), known ? "" : joint.text());
  return 0;
}

}  // namespace

Runner declare_tune(CLI::App& app) {
  const auto command = std::make_shared<TuneCommand>();
  command->output = add_output_options(app);
  command->program = add_program_options(app);
  command->db = add_database_option(app);
  command->fleet = add_fleet_options(app);
  app.add_option("--budget", command->budget, "time for the search, as 90s or 2m (default 60s)");
  app.add_option("-o,--output", command->out, "the package to write (default NAME.hone)");
  app.add_option("--strategy", command->strategy,
                 "search of the program's own decisions: " + fmt::format("{}", fmt::join(strategy_names(), ", ")) +
                     " (default: group moves, then one by one)");
  app.add_option(
      "--tile-model", command->tile_model,
      "ranks the options of each kernel: weights of hone train tile, analytical, or none (default: the weights "
      "shipped with hone)");
  app.add_option("--top-k", command->top_k,
                 "measure only the best K options of each kernel (default: begin with the best, then climb)");
  app.add_flag("--no-fusion", command->no_fusion, "leave XLA's fusion as it is");
  app.add_option("--fusion-model", command->fusion_model,
                 "searches over fusion before any of it is measured: weights of hone train fusion, analytical, or none "
                 "(default: the weights shipped with hone)");
  app.add_option("--fusion-budget", command->fusion_budget,
                 "time of that model for its search, within --budget (default: three tenths of what is left by then)");
  app.add_option("--fusion-chains", command->fusion_chains, "its walks, one after the other on each worker (default 4)")
      ->check(CLI::PositiveNumber);
  app.add_option("--fusion-workers", command->fusion_workers, "workers that lower for it in parallel (default 1)")
      ->check(CLI::Range(1, 64));
  app.add_option("--fusion-start", command->fusion_start, "where searches over fusion begin (default: XLA's own)")
      ->check(CLI::IsMember({"default", "random"}));
  app.add_flag("--fusion-only", command->fusion_only,
               "decide nothing but fusion: a reference for other searches, kept out of the database's results");
  app.add_flag(
      "--exhaustive", command->exhaustive,
      "measure every option of every kernel with care and decide nothing else: slow, a reference for other searches");
  add_joint_options(app, command->joint);
  app.add_flag("--force", command->force, "replace the output even if it is no package");
  app.add_flag("--fresh", command->fresh, "search again, whatever the database knows");
  return [command] {
    settle_layout_model(*command);
    return tune_command(*command);
  };
}

}  // namespace hone::cli
