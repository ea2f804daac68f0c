// Experiments that are searches of their own: by a strategy over all dimensions, and over fusion.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/log.h"
#include "search/random_fusion.h"
#include "search/strategies.h"
#include "tune/program/experiments.h"
#include "tune/program/fusion_walk.h"
#include "tune/session/decision_list.h"

namespace hone::tune {

namespace {

constexpr double kAnnealTemperature = 0.02;  // most single edges lose 10 %: accepting them would only wander off
constexpr double kAnnealShare = 0.9;         // of the time of fusion, the rest for what it finds
constexpr int kWalked = 3;                   // of a walk's best that are looked at again
constexpr double kModelShare = 0.3;          // of the time of fusion, for fusion by the model alone
constexpr double kModelMost = 0.9;           // the same where a longer time is asked for
constexpr int kFusionDuels = 40;             // of the first go
constexpr int kLeastFusionDuels = 8;         // that a search is begun for
constexpr int kLastFusionDuels = 2;          // that a further walk is begun for
constexpr int kFusionRuns = 4;

// `start` says where the strategy begins; decisions about anything else are as in the best so far.
void search_dimensions(TuneState& state, Strategy& strategy, const std::vector<Dimension>& dimensions,
                       const Decisions& start, double budget_s) {
  Space space;
  for (const Dimension& d : dimensions)
    if (d.options.size() > 1) space.dimensions.push_back(d);
  if (space.dimensions.empty() || budget_s <= 0) return;
  const std::string name = strategy.name();
  const DefaultRun& default_run = state.run.default_run;
  const double stop_at = std::max(0.0, state.left() - budget_s);
  const Decisions baseline = state.best, base = outside(state.best, space);
  MeasuredCost cost(space, base, baseline, [&](const Decisions& decisions) {
    Measurement m = state.run.measurer.measure_program(decisions, baseline, default_run.trial);
    if (m.ratio > state.options.min_gain) m = state.on_other_inputs(decisions, m);
    state.run.result.steps.push_back({fmt::format("{} {}", name, to_text(decisions)), m, false});
    return m;
  });
  Choice first;
  for (const Dimension& d : space.dimensions) first.push_back(current_option(start, d));
  SearchOptions search;
  search.seed = state.rng();
  const double seconds_each = default_run.trial.budget_ms / 1e3 + default_run.measurement.compile_ms / 1e3 + 0.05;
  search.max_evaluations = static_cast<int>(std::clamp(budget_s / seconds_each, 8.0, 1e5));
  search.should_stop = [&] { return state.left() <= stop_at; };
  int evaluated = 0;
  search.on_evaluated = [&](const Choice&, double) { state.say(fmt::format("{} {}", name, ++evaluated)); };
  const SearchReport report = strategy.search(space, first, cost, search);
  if (report.best_cost < 1) state.try_step(name + "'s best", merged(base, space.decisions(report.best)));
}

// ---- fusion

FusionSearchOptions model_search_options(TuneState& state, const std::vector<Dimension>& edges, const Decisions& start,
                                         double budget_s) {
  const FusionPlan& plan = state.options.fusion_plan;
  FusionSearchOptions search;
  search.budget_s = plan.budget_s > 0 ? std::min(plan.budget_s, kModelMost * budget_s) : kModelShare * budget_s;
  search.chains = plan.chains;
  search.start = start;
  if (!plan.random_start)
    for (int i = 1; i < plan.chains; i += 2)
      search.diverse_starts.push_back(random_fusion(edges, "elsewhere", i, state.options.seed));
  search.on_scored = [&state](int64_t configurations, double gain) {
    state.say(fmt::format("{} fusion configurations, {:.3f}x predicted", configurations, gain));
  };
  return search;
}

// The model searches, then the best of what it found is measured. Returns where measuring should go on.
Decisions fuse_by_model(TuneState& state, const std::vector<Dimension>& edges, const Decisions& start,
                        double budget_s) {
  const FusionPlan& plan = state.options.fusion_plan;
  const Space space{edges};
  FusionSearchOptions search = model_search_options(state, edges, start, budget_s);
  if (!(search.budget_s > 0)) return start;  // lowering took what was left
  search.seed = state.rng();
  state.run.result.fusion =
      search_fusion(plan.lanes, outside(without_kernels(state.best), space), edges, *plan.model, search);
  const FusionSearchReport& found = *state.run.result.fusion;
  spdlog::info("fusion: {} configurations in {:.1f} s ({:.0f} a minute), {} distinct programs, {} kernels predicted",
               found.configurations, found.seconds, found.per_minute(), found.programs, found.kernels);
  bool kept = false;
  for (const FusionCandidate& candidate : found.finalists())
    kept = state.try_step(fmt::format("fusion predicted {:.3f}x", found.own_ns / candidate.predicted_ns),
                          merged(outside(state.best, space), candidate.decisions)) ||
           kept;
  return kept ? within(state.best, space) : start;
}

// Annealing by measurement goes on from the best, the model proposing; then the best of it, one after the other.
void walk_by_model(TuneState& state, const std::vector<Dimension>& edges, double budget_s) {
  const FusionPlan& plan = state.options.fusion_plan;
  const Space space{edges};
  const Decisions baseline = state.best, base = outside(state.best, space), start = within(state.best, space);
  const double begin_s = state.left();
  FusionWalkOptions walk;
  walk.temperature = kAnnealTemperature;
  walk.seed = state.rng();
  walk.progress = [&] { return state.left() <= 0 ? 1.0 : (begin_s - state.left()) / budget_s; };
  int measured = 0;
  walk.measure = [&](const Decisions& fusion) {
    state.say(fmt::format("fusion, proposed {}", ++measured));
    const Decisions candidate = merged(base, fusion);
    Measurement m = state.run.measurer.measure_program(candidate, baseline, state.run.default_run.trial);
    if (m.ratio > state.options.min_gain) m = state.on_other_inputs(candidate, m);
    state.run.result.steps.push_back({fmt::format("fusion proposed {}", to_text(fusion)), m, false});
    return m;
  };
  const std::vector<WalkedFusion> found =
      walk_fusion(plan.lanes[0], *plan.model, without_kernels(base), edges, start, kWalked, walk);
  for (const WalkedFusion& one : found)
    if (state.try_step(fmt::format("fusion measured {:.3f}x", one.ratio), merged(base, one.decisions))) return;
}

}  // namespace

std::vector<Experiment> by_strategy(const TuneState& state) {
  if (state.ever_begun("strategy")) return {};
  const double cost_s = (state.options.fusion ? 0.6 : 1) * state.left();
  return {{state.options.strategy, 1, cost_s, [](TuneState& s, double budget_s) {
             s.begin("strategy");
             return gain_of(s, 1, [&] {
               search_dimensions(s, *make_strategy(s.options.strategy), s.dimensions, s.best, budget_s);
             });
           }}};
}

std::vector<Experiment> fusion_of_program(const TuneState& state) {
  const double least_s = kLeastFusionDuels * state.duel_s();
  if (state.left() < least_s || state.fusion_runs >= kFusionRuns) return {};
  const double cost_s = std::min(state.left(), kFusionDuels * state.duel_s() * (1 << state.fusion_runs));
  const double share = state.share_outside_libraries();
  return {{"fusion", share, cost_s, [share](TuneState& s, double budget_s) {
             ++s.fusion_runs;
             return gain_of(s, share, [&] { tune_fusion(s, budget_s); });
           }}};
}

void tune_fusion(TuneState& state, double budget_s) {
  const double stop_at = state.left() - budget_s;
  if (state.left() <= 0) return;
  const FusionPlan& plan = state.options.fusion_plan;
  const std::optional<Lowered> lowered = state.try_lower(without_kernels(state.best), true);
  if (!lowered) return;
  std::vector<Dimension> edges;
  for (const Dimension& d : lowered->dimensions)
    if (d.kind == DecisionKind::Fusion) edges.push_back(d);
  // Of edges decided earlier some are not asked about any more, since what was decided later.
  const Space space{edges};
  Decisions start = within(state.best, space);
  if (plan.random_start) start = random_fusion(edges, "start", 0, state.options.seed);
  const auto left = [&] { return state.left() - std::max(0.0, stop_at); };
  if (plan.model && !edges.empty()) {
    start = fuse_by_model(state, edges, start, left());
    if (left() <= 0) return;
    if (!plan.lanes.empty() && start == within(state.best, space))
      return walk_by_model(state, edges, kAnnealShare * left());
  }
  double before = 0;
  do {
    before = left();
    const Decisions best = within(state.best, space);
    search_dimensions(state, *make_anneal({.start_temperature = kAnnealTemperature}), edges, start,
                      kAnnealShare * before);
    if (within(state.best, space) != best) start = within(state.best, space);  // the next walk begins there
  } while (left() > kLastFusionDuels * state.duel_s() && left() < before);
}

}  // namespace hone::tune
