#include "tune/program/tune_steps.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/log.h"
#include "search/random_fusion.h"
#include "search/strategies.h"
#include "tune/program/fusion_walk.h"
#include "tune/session/decision_list.h"

namespace hone::tune {

namespace {

constexpr double kNearTheBest = 0.97;        // least speed of a contender, relative to the best
constexpr double kAnnealShare = 0.9;         // of the time left
constexpr double kAnnealTemperature = 0.02;  // low: most single edges lose 10 % and should be rejected
constexpr int kWalked = 3;                   // best results of a walk that are measured again
constexpr double kModelShare = 0.3;          // of the time left, for the search by predictions
constexpr double kModelMost = 0.9;           // the limit where FusionPlan::budget_s asks for more

// ---- passes and layouts

void try_alternative(TuneState& state, const Alternative& alternative, double until_s) {
  if (state.left() <= until_s) return;
  const Decisions candidate = merged(state.best, alternative.decisions);
  const std::optional<Lowered> lowered = state.try_lower(candidate, false);
  if (!lowered || !state.measured_programs.insert(lowered->fingerprint).second) return;  // lowers to the same program
  const std::vector<Step>& steps = state.run.result.steps;
  const size_t before = steps.size();
  if (state.try_step(alternative.what, candidate) || steps.size() == before) return;
  const Measurement& m = steps.back().measurement;
  if (m.ok() && m.ratio > kNearTheBest) state.contenders.push_back({alternative, m.ratio});
}

// ---- dimensions of the program

// Tries every option of one dimension against the best so far. True when one was kept.
bool try_options(TuneState& state, const Dimension& d, double until_s, const std::function<void()>& on_kept = [] {}) {
  bool kept = false;
  for (int i = 0; i < static_cast<int>(d.options.size()) && state.left() > until_s; ++i) {
    if (i == current_option(state.best, d)) continue;
    if (!state.try_step(in_words(as_decision(d, i)), with_option(state.best, d, i))) continue;
    kept = true;
    on_kept();
  }
  return kept;
}

// Before the first kernel is tuned, there is nothing to tune again.
void lowering_changed_if_tuned(TuneState& state, DecisionKind kind) {
  if (!state.seen_kernels.empty()) state.lowering_changed(kind);
}

void move_broadly(TuneState& state, double until_s, bool libraries) {
  for (const Dimension& d : state.dimensions)
    if (is_broad(d) && (d.kind != DecisionKind::Library || libraries))
      try_options(state, d, until_s, [&] { lowering_changed_if_tuned(state, d.kind); });
}

// The dimensions of the kind that belong, offer the option and are not yet at it.
Decisions group_of(const TuneState& state, const std::function<bool(const Dimension&)>& belongs, DecisionKind kind,
                   const std::string& option) {
  Decisions group;
  for (const Dimension& d : state.dimensions)
    if (d.kind == kind && belongs(d) && d.options[current_option(state.best, d)] != option &&
        !state.measured_as_kernel(d) && std::find(d.options.begin(), d.options.end(), option) != d.options.end())
      group.push_back({kind, d.key, option});
  return group;
}

// `start` is where the strategy begins; all other decisions stay as in the best so far.
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
    const Measurement m = state.run.measurer.measure_program(decisions, baseline, default_run.trial);
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
  if (report.best_cost < 1 && state.try_step(name + "'s best", merged(base, space.decisions(report.best))))
    state.lowering_changed(DecisionKind::Option);
}

// ---- fusion

FusionSearchOptions model_search_options(TuneState& state, const std::vector<Dimension>& edges,
                                         const Decisions& start) {
  const FusionPlan& plan = state.options.fusion_plan;
  FusionSearchOptions search;
  search.budget_s = plan.budget_s > 0 ? std::min(plan.budget_s, kModelMost * state.left()) : kModelShare * state.left();
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

// Searches by predictions, then measures the best results. Returns where annealing by measurement should begin.
Decisions fuse_by_model(TuneState& state, const std::vector<Dimension>& edges, const Decisions& start) {
  const FusionPlan& plan = state.options.fusion_plan;
  const Space space{edges};
  FusionSearchOptions search = model_search_options(state, edges, start);
  if (!(search.budget_s > 0)) return start;  // lowering took the time that was left
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
  if (kept) state.lowering_changed(DecisionKind::Fusion);
  return kept ? of_kind(state.best, DecisionKind::Fusion) : start;
}

// Anneals by measurement from the best, with proposals from the model; then tries its best results one after the other.
void walk_by_model(TuneState& state, const std::vector<Dimension>& edges) {
  const FusionPlan& plan = state.options.fusion_plan;
  const Space space{edges};
  const Decisions baseline = state.best, base = outside(state.best, space),
                  start = of_kind(state.best, DecisionKind::Fusion);
  const double begin_s = state.left();
  FusionWalkOptions walk;
  walk.temperature = kAnnealTemperature;
  walk.seed = state.rng();
  walk.progress = [&] { return state.left() <= 0 ? 1.0 : (begin_s - state.left()) / (kAnnealShare * begin_s); };
  int measured = 0;
  walk.measure = [&](const Decisions& fusion) {
    state.say(fmt::format("fusion, proposed {}", ++measured));
    const Measurement m =
        state.run.measurer.measure_program(merged(base, fusion), baseline, state.run.default_run.trial);
    state.run.result.steps.push_back({fmt::format("fusion proposed {}", to_text(fusion)), m, false});
    return m;
  };
  const std::vector<WalkedFusion> found =
      walk_fusion(plan.lanes[0], *plan.model, without_kernels(base), edges, start, kWalked, walk);
  for (const WalkedFusion& one : found)
    if (state.try_step(fmt::format("fusion measured {:.3f}x", one.ratio), merged(base, one.decisions)))
      return state.lowering_changed(DecisionKind::Fusion);
}

}  // namespace

void lower_default(TuneState& state, const StepTime& time) {
  state.say("lowering");
  state.lowered = state.run.measurer.lower({}, false);
  state.tuned_lowering = state.lowered.fingerprint;
  list_dimensions(state, time);
}

void lower_best(TuneState& state, const StepTime&) { state.lower_best(); }

void list_dimensions(TuneState& state, const StepTime&) {
  state.dimensions = by_promise(state.lowered.dimensions);
  std::erase_if(state.dimensions, [&](const Dimension& d) { return !state.options.decides(d.kind); });
}

void reserve_fusion_time(TuneState& state, const StepTime& time) { state.fusion_reserve_s = time.budget_s; }

void order_passes(TuneState& state, const StepTime& time) {
  state.measured_programs.insert(state.lowered.fingerprint);
  state.say("ordering passes");
  for (const Alternative& alternative : state.options.outer.passes()) try_alternative(state, alternative, time.until_s);
}

void choose_layouts(TuneState& state, const StepTime& time) {
  state.measured_programs.insert(state.lowered.fingerprint);
  state.say("proposing layouts");
  for (const Alternative& alternative : state.options.outer.layouts(state.best))
    try_alternative(state, alternative, time.until_s);
}

void retry_contenders(TuneState& state, const StepTime& time) {
  std::stable_sort(state.contenders.begin(), state.contenders.end(),
                   [](const auto& a, const auto& b) { return a.ratio > b.ratio; });
  const auto most = static_cast<size_t>(state.options.outer.contenders);
  for (size_t i = 0; i < state.contenders.size() && i < most; ++i) {
    const Alternative& alternative = state.contenders[i].alternative;
    if (state.left() > time.until_s &&
        state.try_step(alternative.what + ", again", merged(state.best, alternative.decisions)))
      state.lowering_changed(DecisionKind::Passes);
  }
}

StepFunction move_groups(std::function<bool(const Dimension&)> belongs) {
  return [belongs = std::move(belongs)](TuneState& state, const StepTime& time) {
    std::set<std::pair<DecisionKind, std::string>> moves;
    for (const Dimension& d : state.dimensions)
      if (belongs(d))
        for (const std::string& option : d.options) moves.emplace(d.kind, option);
    for (const auto& [kind, option] : moves) {
      const Decisions group = group_of(state, belongs, kind, option);
      if (group.empty() || state.left() <= time.until_s) continue;
      if (state.adopt_group(fmt::format("{} {} for all {}", decision_kind_name(kind), option, group.size()), group))
        lowering_changed_if_tuned(state, kind);
    }
  };
}

StepFunction move_family(FamilyId family) {
  return move_groups([family](const Dimension& d) { return belongs_to(family, d.kind, d.key); });
}

void broad_moves(TuneState& state, const StepTime& time) { move_broadly(state, time.until_s, /*libraries=*/true); }

void broad_moves_but_libraries(TuneState& state, const StepTime& time) {
  move_broadly(state, time.until_s, /*libraries=*/false);
}

void descend(TuneState& state, const StepTime& time) {
  for (const Dimension& d : state.dimensions)
    if (!state.measured_as_kernel(d) && try_options(state, d, time.until_s)) state.lowering_changed(d.kind);
}

void search_by_strategy(TuneState& state, const StepTime& time) {
  search_dimensions(state, *make_strategy(state.options.strategy), state.dimensions, state.best, time.budget_s);
}

void tune_kernels_of_lowering(TuneState& state, const StepTime& time) {
  state.tune_new_kernels(state.lowered, time.budget_s);
}

void tune_fusion(TuneState& state, const StepTime&) {
  if (state.left() <= 0) return;
  const FusionPlan& plan = state.options.fusion_plan;
  const std::optional<Lowered> lowered = state.try_lower(without_kernels(state.best), true);
  if (!lowered) return;
  std::vector<Dimension> edges;
  for (const Dimension& d : lowered->dimensions)
    if (d.kind == DecisionKind::Fusion) edges.push_back(d);
  Decisions start = of_kind(state.best, DecisionKind::Fusion);
  if (plan.random_start) start = random_fusion(edges, "start", 0, state.options.seed);
  if (plan.model && !edges.empty()) {
    start = fuse_by_model(state, edges, start);
    if (state.left() <= 0) return;
    if (!plan.lanes.empty() && start == of_kind(state.best, DecisionKind::Fusion)) return walk_by_model(state, edges);
  }
  search_dimensions(state, *make_anneal({.start_temperature = kAnnealTemperature}), edges, start,
                    kAnnealShare * state.left());
}

}  // namespace hone::tune
