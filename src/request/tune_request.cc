#include "request/tune_request.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/log.h"
#include "base/rng.h"
#include "cost/shipped.h"
#include "report/package.h"
#include "request/database_file.h"
#include "request/known_result.h"
#include "tune/kernel/calibration.h"
#include "tune/program/layout_tuner.h"
#include "tune/program/predicted_layouts.h"
#include "tune/session/timeline.h"

namespace hone::request {

namespace {

// Added to the budget of a search of single kernels: a node's budget may be shorter than XLA takes to start.
constexpr double kStartAllowanceS = 120;

// The machine that kernels are predicted for.
features::Cpu target_cpu(const TuneRequest& request) {
  return features::this_cpu(request.program.threads_used(), request.program.max_isa);
}

// Null without a model: none was requested, or none is shipped with this build.
std::unique_ptr<cost::KernelRanker> tile_ranker(const TuneRequest& request) {
  const std::string& model = request.tile_model;
  if (model == "none" || request.exhaustive) return nullptr;
  if (model == "analytical") return cost::analytical_ranker("", target_cpu(request));
  if (model != "shipped") return cost::learned_ranker(model, target_cpu(request));
  const std::string weights = cost::shipped_tile_weights(request.models);
  if (weights.empty()) return nullptr;
  try {
    return cost::learned_ranker(weights, target_cpu(request));
  } catch (const Error& e) {
    spdlog::debug("tuning without a model of tiles: {}", e.what());
    return nullptr;
  }
}

// Null as above.
std::unique_ptr<tune::FusionModel> fusion_model(const TuneRequest& request) {
  const std::string& model = request.fusion_model;
  if (model == "none" || request.no_fusion || request.exhaustive) return nullptr;
  if (model != "shipped") return tune::open_fusion_model(model, target_cpu(request));
  try {
    return tune::shipped_run_times("fusion", request.models, request.program.threads_used(), request.program.max_isa);
  } catch (const Error& e) {
    spdlog::debug("tuning without a model of fusion: {}", e.what());
    return nullptr;
  }
}

// A digest of the ranker of kernels' options.
std::string ranker_digest(const TuneRequest& request) {
  if (request.tile_model == "analytical") return request.tile_model;
  return tune::weights_fingerprint(request.tile_model == "shipped" ? cost::shipped_tile_weights(request.models)
                                                                   : request.tile_model);
}

// With --decide layout, layouts are ranked by the shipped weights, unless a strategy was requested.
std::string layout_model(const TuneRequest& request) {
  const std::string& model = request.setup.layout_model;
  if (model == "none") return "";
  if (model.empty() && request.setup.layouts_alone() && request.strategy.empty())
    return cost::shipped_model("layout/ranker.safetensors", request.models);
  return model;
}

// Layouts beside other decisions are those that are predicted to be faster, unless a model, or none, is requested.
bool predicts_layouts(const TuneRequest& request) {
  return request.setup.layout_model.empty() && !request.setup.layouts_alone() &&
         !cost::shipped_model(tune::kVariedModel, request.models).empty();
}

void check(const TuneRequest& request) {
  const std::set<DecisionKind> kinds = request.setup.kinds();
  const bool some = !kinds.empty();
  if (request.fusion_only && (request.no_fusion || request.exhaustive))
    throw Error("fusion cannot be decided alone and left as it is", "--fusion-only",
                "leave out --no-fusion and --exhaustive");
  if (some && !kinds.contains(DecisionKind::Layout) && !request.setup.layout_model.empty())
    throw Error("a model of layouts needs layouts to be decided", "--layout-model", "add layout to --decide");
  if (some && (request.exhaustive || request.fusion_only))
    throw Error("--exhaustive and --fusion-only already determine what is decided", "--decide",
                "leave one of them out");
  if (some && request.no_fusion && kinds.contains(DecisionKind::Fusion))
    throw Error("fusion cannot be decided and left as it is", "--no-fusion", "leave fusion out of --decide");
  if (!request.setup.layout_model.empty()) tune::learned_layout_ranker(request.setup.layout_model, 1);
}

}  // namespace

// The workers for the fusion model: the search's own, and as many more as requested.
class FusionWorkers {
 public:
  FusionWorkers(const TuneRequest& request, tune::Session& session) {
    add_lane(session);
    for (int i = 1; i < request.fusion_workers; ++i) {
      more_.push_back(open_program(request.program));
      add_lane(*more_.back().session);
    }
  }
  const std::vector<tune::FusionLane>& lanes() const { return lanes_; }

 private:
  void add_lane(tune::Session& session) {
    lanes_.push_back({[&session](const Decisions& decisions) { return session.lower_kernels(decisions); },
                      [&session] { return session.seconds_left(); }});
  }

  std::vector<OpenedProgram> more_;
  std::vector<tune::FusionLane> lanes_;
};

struct Tuning::Work {
  OpenedProgram opened;
  std::optional<FusionWorkers> fusion;
  std::optional<Database> database;
  std::optional<SearchSetup> setup;
  tune::Session& session() { return *opened.session; }
};

Tuning::Tuning(TuneRequest request) : request_(std::move(request)), start_(std::chrono::steady_clock::now()) {
  request_.setup.predict_layouts = predicts_layouts(request_);
  request_.setup.layout_model = layout_model(request_);
  request_.setup.models = request_.models;
  ranker_ = tile_ranker(request_);
  options_.budget_s = request_.budget_s;
  options_.strategy = request_.strategy;
  options_.kernel.ranker = ranker_.get();
  operation_ranker_ = cost::OperationRanker::open(request_.operation_model, request_.program.threads_used(),
                                                  request_.program.max_isa, request_.models);
  options_.operation_ranker = operation_ranker_.get();
  options_.kernel.top_k = request_.top_k;
  options_.validate();
  check(request_);
  fusion_model_ = fusion_model(request_);
  path_ = report::package_path(request_.output, report::program_name(request_.program.program));
  report::check_replaceable(path_, request_.force);
}

Tuning::~Tuning() = default;

void Tuning::open() {
  work_ = std::make_unique<Work>();
  const double allowance_s = request_.kernels.empty() ? 0 : kStartAllowanceS;
  work_->opened = open_program(request_.program, request_.budget_s + allowance_s, !request_.no_prepare);
  check_runs(work_->opened);
  tune::Session& session = work_->session();
  options_.fusion_plan.model = fusion_model_.get();
  options_.fusion_plan.budget_s = request_.fusion_budget_s;
  options_.fusion_plan.chains = request_.fusion_chains;
  options_.fusion_plan.random_start = request_.random_fusion_start;
  options_.fusion_plan.only = request_.fusion_only;
  if (fusion_model_) options_.fusion_plan.lanes = work_->fusion.emplace(request_, session).lanes();
  // Opened only now, so that a program that cannot be read leaves no database behind.
  Database& database = work_->database.emplace(open_database(request_.database));
  session.use_database(database, /*reuse_kernels=*/!request_.fresh && !request_.reference());
  SearchSetup& setup = work_->setup.emplace(request_.setup, work_->opened, request_.budget_s);
  setup.equip(options_);
  if (request_.learns())
    setup.learn(options_, database, database_path(request_.database), ranker_ ? ranker_digest(request_) : "");
}

// What was found is kept where the worker dies of the original, which takes several times as much memory in f64.
void Tuning::judge_precision(report::TuneReport& report) {
  try {
    work_->session().judge_precision(work_->opened.file.bytes, report.decisions, report.precision);
  } catch (const RunError& failed) {
    if (!report.note.empty()) report.note += "; ";
    report.note += std::string("not compared with the original program: ") + failed.what();
  }
}

TuneAnswer Tuning::run(const TuneProgress& on_progress) {
  open();
  tune::Session& session = work_->session();
  const Tuned key = result_key(session, !request_.no_fusion, request_.setup.kinds());
  std::optional<tune::ProgramResult> result;
  tune::Timeline timeline(session);
  if (!request_.fresh && !request_.reference()) result = known_result(*work_->database, key, timeline);
  const bool known = result.has_value();
  if (!known) {
    session.begin_search();
    result = request_.setup.layouts_alone() ? search_layouts(on_progress, timeline) : search(on_progress, timeline);
  }

  // What nothing in the lowered program is about changes nothing, and would be a warning wherever the package is loaded.
  std::erase_if(result->decisions, [&](const Decision& d) {
    const Decisions& unmatched = result->lowered.unmatched;
    return std::find(unmatched.begin(), unmatched.end(), d) != unmatched.end();
  });
  report::Package package;
  package.report = report::make_report(session, *result);
  package.report.known = known;
  package.report.timeline = timeline.trials();
  package.report.inputs = work_->opened.inputs;
  package.report.budget_s = request_.budget_s;
  package.report.output = path_;
  package.report.precision = work_->opened.precision;
  if (!package.report.precision.kind.empty()) judge_precision(package.report);
  package.report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  package.file = work_->opened.file.file;
  const auto& proto = session.program().module_proto;
  package.program_bytes.assign(proto.begin(), proto.end());
  package.tuned_hlo = result->lowered.hlo;
  report::write_package(path_, package, request_.force);
  if (!known && !request_.reference()) remember_result(*work_->database, key, package.report);
  TuneAnswer answer{std::move(package.report), result->fusion, {}, {}};
  if (!known) {
    answer.learned = work_->setup->report();
    answer.learned_text = work_->setup->text();
  }
  return answer;
}

tune::ProgramResult Tuning::search(const TuneProgress& on_progress, tune::Measurer& bench) {
  tune::Session& session = work_->session();
  options_.seed = session.target().seed;
  options_.fusion = !request_.no_fusion;
  options_.in_place = !request_.no_in_place;
  options_.operations = !request_.no_operations;
  options_.packing = !request_.no_packing;
  options_.kernels_only = request_.exhaustive;
  if (request_.exhaustive) {
    options_.kernel.exhaustive_limit = std::numeric_limits<int>::max() / 2;
    options_.kernel.quick = options_.kernel.careful;
  }
  options_.on_progress = [&](const std::string& what, double gain) {
    on_progress(what, gain, session.counters().candidates);
  };
  return tune::tune_program(bench, options_);
}

tune::ProgramResult Tuning::search_layouts(const TuneProgress& on_progress, tune::Measurer& bench) {
  tune::Session& session = work_->session();
  tune::LayoutTuneOptions options;
  options.budget_s = request_.budget_s;
  options.seed = session.target().seed;
  options.measured = request_.setup.layouts_measured;
  if (!request_.strategy.empty()) options.strategy = request_.strategy;
  if (!request_.setup.layout_model.empty())
    options.ranker = tune::learned_layout_ranker(request_.setup.layout_model, session.target().threads);
  options.on_progress = [&](const std::string& what, double gain) {
    on_progress(what, gain, session.counters().candidates);
  };
  // Listing the layouts does not count towards the search's budget.
  session.begin_confirmation();
  const LayoutSpace layouts = layout_space_from(session.list_layouts());
  session.begin_search();
  return tune::tune_layouts(bench, layouts, options);
}

nlohmann::json Tuning::tune_kernels() {
  open();
  tune::Session& session = work_->session();
  std::vector<Kernel> listed = session.lower({}, /*want_fusion=*/false).kernels;
  std::erase_if(listed, [&](const Kernel& kernel) { return !request_.kernels.contains(kernel.fingerprint); });
  if (listed.empty())
    throw Error("the program has none of these kernels", "--kernels", "hone inspect --json lists them");
  session.begin_search();
  Rng rng(session.target().seed);
  nlohmann::json tuned = nlohmann::json::array();
  try {
    tune::tune_kernels(listed, session, request_.budget_s, options_.kernel, rng,
                       [&](const tune::KernelsProgress& progress) {
                         const tune::KernelReport& report = *progress.report;
                         tuned.push_back({{"fingerprint", report.fingerprint},
                                          {"known", report.known},
                                          {"complete", report.complete},
                                          {"tried", report.tried},
                                          {"gain", report.gain},
                                          {"chosen", report.chosen}});
                       });
  } catch (const tune::Stopped&) {  // out of budget, or interrupted: all measurements are in the database
  }
  return {{"kernels", tuned}, {"host", session.host()}, {"xla_version", session.worker_info().xla_version}};
}

}  // namespace hone::request
