#include "request/search_setup.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/isa.h"
#include "base/log.h"
#include "base/text.h"
#include "cost/shipped.h"
#include "data/postgres.h"
#include "graph/layout_choice.h"
#include "passorder/fixed_orders.h"
#include "passorder/pass_walk.h"
#include "request/database_file.h"
#include "tune/program/outer_search.h"

namespace hone::request {

namespace {

constexpr double kProposalShare = 0.05;  // of the budget, for orders of passes
// Measuring orders takes 1 to 4 s and seldom pays off: short searches spend that time better elsewhere.
constexpr double kPassesFromSeconds = 120;
constexpr double kLayoutShare = 0.05;  // of the budget, for the lowering of layouts
constexpr int kLayoutsWithoutModel = 6, kMostPredictedLayouts = 16;

// In the folder of the database, or of the default one if it is a server: one file per machine, thread count and XLA.
std::string adaption_path(const std::string& database_file, const Record& conditions) {
  const std::string conditions_text =
      fmt::format("{}|{}|{}", conditions.host, conditions.threads, conditions.xla_version);
  const std::string base = is_postgres_url(database_file) ? database_path("") : database_file;
  return fmt::format("{}.adaption-{}.jsonl", base, hash_hex(conditions_text).substr(0, 8));
}

}  // namespace

std::set<DecisionKind> SearchSetupOptions::kinds() const {
  std::set<DecisionKind> kinds;
  for (size_t at = 0; at <= decide.size();) {
    const size_t end = std::min(decide.find(',', at), decide.size());
    const std::string name = decide.substr(at, end - at);
    at = end + 1;
    if (name == "all") return {};
    try {
      kinds.insert(decision_kind_from_name(name));
    } catch (const Error& unknown) {
      throw Error(unknown.what(), "--decide", "all, or " + unknown.hint() + ", separated by commas");
    }
  }
  return kinds;
}

SearchSetup::SearchSetup(const SearchSetupOptions& options, OpenedProgram& opened, double budget_s)
    : options_(options), opened_(opened), budget_s_(budget_s) {}

void SearchSetup::equip(tune::TuneOptions& options) {
  options.decide = options_.kinds();
  options.kernel.by_expectation = options_.pick == "expectation";
  const bool asked = options.decide.contains(DecisionKind::Passes);
  if (asked || (options.decide.empty() && budget_s_ >= kPassesFromSeconds))
    options.outer.passes = [this] { return passes(); };
  if (!options_.layout_model.empty() || options_.predict_layouts || options.decide.contains(DecisionKind::Layout))
    options.outer.layouts = [this](const Decisions& under) { return layouts(under); };
}

// The shipped winners; null without them.
const Database* SearchSetup::open_known() {
  const std::string path = options_.no_known ? "" : cost::shipped_file("known.db");
  if (path.empty()) return nullptr;
  try {
    return &known_.emplace(Database::open(path, {.read_only = true}));
  } catch (const Error& e) {
    spdlog::warn("tuning without the shipped winners: {}", e.what());
    return nullptr;
  }
}

void SearchSetup::learn(tune::TuneOptions& options, Database& database, const std::string& database_file,
                        const std::string& weights) {
  tune::Session& session = *opened_.session;
  Record conditions;
  conditions.program = session.program().program;
  conditions.host = session.host();
  conditions.threads = session.target().threads;
  conditions.seed = session.target().seed;
  conditions.xla_version = session.worker_info().xla_version;
  if (!options_.no_transfer) {
    transfer_.emplace(database, conditions, open_known(), tune::machine_class(isa_in_effect(session.target().max_isa)));
    options.kernel.first = [this](const Kernel& kernel) {
      std::vector<int> first = transfer_->options(kernel);
      ++asked_;
      similar_ += !first.empty();
      return first;
    };
  }
  if (options.kernel.ranker && !options_.no_adaption) {
    adaption_ = std::make_unique<tune::Adaption>(adaption_path(database_file, conditions), weights);
    adapted_ = std::make_unique<tune::AdaptedRanker>(*options.kernel.ranker, *adaption_);
    options.kernel.ranker = adapted_.get();
  }
  options.kernel.on_searched = [this](const Kernel& kernel, const tune::KernelReport& report,
                                      const std::vector<tune::Tried>& measured) {
    if (transfer_ && report.complete && !report.top.empty()) {
      const tune::Measurement& best = report.top.front().measurement;
      tune::Measurement own = best;  // if the default won: its duel with itself
      own.candidate_ns = own.baseline_ns;
      own.ratio = own.ratio_low = own.ratio_high = 1;
      transfer_->remember(kernel, report.chosen, report.improved() ? best : own);
    }
    std::vector<std::pair<std::string, double>> ratios;
    for (const tune::Tried& t : measured)
      if (t.measurement.ok() && t.measurement.ratio > 0) ratios.emplace_back(t.value, 1 / t.measurement.ratio);
    if (adapted_) adapted_->learn(kernel, ratios);
  };
}

std::vector<tune::Alternative> SearchSetup::passes() {
  try {
    passorder::PassSessionOptions session_options;
    session_options.threads = opened_.session->target().threads;
    session_options.seed = opened_.session->target().seed;
    session_options.max_isa = opened_.session->target().max_isa;
    passorder::PassSession session(session_options);
    std::unique_ptr<passorder::OrderPolicy> policy;
    if (const std::string path = passorder::shipped_order_policy(options_.models); !path.empty())
      policy = std::make_unique<passorder::OrderPolicy>(path, session);
    tune::PassProposals proposals;
    proposals.budget_s = std::clamp(kProposalShare * budget_s_, 0.5, 6.0);
    proposals.seed = session_options.seed;
    proposals.should_stop = interrupted;
    proposals.first_orders = passorder::fitting_orders(session, options_.models);
    return tune::propose_passes(session, opened_.file.bytes, opened_.file.name, policy.get(), proposals);
  } catch (const Error& e) {
    spdlog::warn("tuning without orders of passes: {}", e.what());
    return {};
  }
}

std::vector<tune::Alternative> SearchSetup::layouts(const Decisions& under) {
  try {
    if (options_.predict_layouts) return predicted_layouts(under);
    const LayoutSpace space = layout_space_from(opened_.session->list_layouts(under));
    const auto& target = opened_.session->target();
    if (options_.layout_model.empty()) return tune::propose_layouts(space, {}, 0, kLayoutsWithoutModel, target.seed);
    return tune::propose_layouts(space, tune::learned_layout_ranker(options_.layout_model, target.threads),
                                 tune::LayoutTuneOptions{}.ranked, options_.layouts_measured, target.seed);
  } catch (const Error& e) {
    spdlog::warn("tuning without layouts: {}", e.what());
    return {};
  }
}

std::vector<tune::Alternative> SearchSetup::predicted_layouts(const Decisions& under) {
  const auto& target = opened_.session->target();
  if (varied_.empty()) varied_ = tune::shipped_varied_models(options_.models, target.threads, target.max_isa);
  const double seconds = std::clamp(kLayoutShare * budget_s_, 0.5, 10.0);
  std::vector<tune::Alternative> alternatives;
  for (const tune::PredictedLayout& layout :
       tune::in_turns(tune::predict_layouts(*opened_.session, under, varied_, seconds), kMostPredictedLayouts))
    alternatives.push_back({"layout of " + layout.decision.key, {layout.decision}});
  return alternatives;
}

nlohmann::json SearchSetup::report() const {
  nlohmann::json object;
  if (transfer_) object["transfer"] = {{"kernels", asked_}, {"with_similar", similar_}};
  if (adaption_) {
    const tune::AdaptionReport& r = adaption_->report();
    object["adaption"] = {{"used", r.used},
                          {"why", r.why},
                          {"kernels", adaption_->size()},
                          {"held_back", r.held_back},
                          {"shipped_error", r.shipped_error},
                          {"adapted_error", r.adapted_error},
                          {"shipped_regret", r.shipped_regret},
                          {"adapted_regret", r.adapted_regret}};
  }
  return object;
}

std::string SearchSetup::text() const {
  std::string text;
  if (similar_ > 0)
    text = fmt::format("  {} of {} kernels began with the winners of similar kernels\n", similar_, asked_);
  if (adaption_ && adaption_->report().used)
    text += fmt::format("  ranking adapted to this machine: error {:.3f} instead of {:.3f}, on {} held-out kernels\n",
                        adaption_->report().adapted_error, adaption_->report().shipped_error,
                        adaption_->report().held_back);
  return text;
}

}  // namespace hone::request
