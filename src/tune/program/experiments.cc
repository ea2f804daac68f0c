#include "tune/program/experiments.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/log.h"
#include "graph/packed_weights.h"
#include "search/random_fusion.h"
#include "search/strategies.h"
#include "search/yield_belief.h"
#include "tune/program/fusion_walk.h"
#include "tune/session/decision_list.h"

namespace hone::tune {

namespace {

constexpr double kNearTheBest = 0.97;        // of the best's speed: a contender
constexpr double kAnnealTemperature = 0.02;  // most single edges lose 10 %: accepting them would only wander off
constexpr double kAnnealShare = 0.9;         // of the time of fusion, the rest for what it finds
constexpr int kWalked = 3;                   // of a walk's best that are looked at again
constexpr double kModelShare = 0.3;          // of the time of fusion, for fusion by the model alone
constexpr double kModelMost = 0.9;           // the same where a longer time is asked for
constexpr int kFusionDuels = 40;             // of the first go
constexpr int kLeastFusionDuels = 8;
constexpr int kFusionRuns = 4;
constexpr double kLeastOfWeights = 0.01;  // of a run's time
constexpr double kProposeOrdersSeconds = 4;
constexpr double kProposeLayoutsSeconds = 0.2;  // spread over those that follow

// What the touched time gained while `work` ran.
template <class Work>
double gain_of(TuneState& state, double share, Work&& work) {
  const double before = state.run.gain;
  work();
  return touched_gain(share, std::log(state.run.gain / before));
}

Experiment duel(const TuneState& state, std::string what, double share, std::function<void(TuneState&)> work,
                Decisions first = {}) {
  share = std::clamp(share, 0.0, 1.0);
  return {std::move(what), share, state.duel_s(),
          [share, work = std::move(work)](TuneState& s, double) { return gain_of(s, share, [&] { work(s); }); },
          std::move(first)};
}

// ---- passes and layouts

void try_alternative(TuneState& state, const Alternative& alternative) {
  const Decisions candidate = merged(state.best, alternative.decisions);
  const std::optional<Lowered> lowered = state.try_lower(candidate, false);
  if (!lowered || !state.measured_programs.insert(lowered->fingerprint).second)
    return;  // lowers to a program that was measured
  const std::vector<Step>& steps = state.run.result.steps;
  const size_t before = steps.size();
  if (state.try_step(alternative.what, candidate) || steps.size() == before) return;
  const Measurement& m = steps.back().measurement;
  if (m.ok() && m.ratio > kNearTheBest) state.contenders.push_back({alternative, m.ratio, to_text(state.best)});
}

struct Proposer {
  const char* what;
  double seconds;
  std::vector<Alternative> (*ask)(TuneState&);
};

// The first of the proposals that were not tried yet. The first experiment also asks for the proposals.
std::vector<Experiment> alternatives(const TuneState& state, std::optional<std::vector<Alternative>> TuneState::* list,
                                     const Proposer& proposer) {
  const auto try_first = [list, proposer](TuneState& s) {
    if (!(s.*list)) s.*list = proposer.ask(s);
    std::vector<Alternative>& open = *(s.*list);
    if (open.empty()) return;
    const Alternative first = open.front();
    open.erase(open.begin());
    try_alternative(s, first);
  };
  const auto& known = state.*list;
  if (known && known->empty()) return {};
  Experiment next =
      duel(state, known ? known->front().what : proposer.what, state.share_outside_libraries(), try_first);
  if (!known) next.cost_s += proposer.seconds;
  return {std::move(next)};
}

std::vector<Alternative> ask_for_passes(TuneState& state) {
  state.say("ordering passes");
  return state.options.outer.passes();
}

std::vector<Alternative> ask_for_layouts(TuneState& state) {
  state.say("proposing layouts");
  return state.options.outer.layouts(state.best);
}

// ---- dimensions of the program

// The dimensions of the kind that belong, offer the option and are not yet at it.
TuneState::Group group_of(const TuneState& state, const Belongs& belongs, DecisionKind kind,
                          const std::string& option) {
  TuneState::Group group{.what = "", .decisions = {}, .share = 0};
  for (const Dimension& d : state.dimensions) {
    if (d.kind != kind || !belongs(d) || d.options[current_option(state.best, d)] == option ||
        state.measured_as_kernel(d) || std::find(d.options.begin(), d.options.end(), option) == d.options.end())
      continue;
    group.decisions.push_back({kind, d.key, option});
    group.share = std::min(1.0, group.share + state.share_of(d));
  }
  group.what = fmt::format("{} {} for all {}", decision_kind_name(kind), option, group.decisions.size());
  return group;
}

Experiment try_group(const TuneState& state, const TuneState::Group& group) {
  const auto adopt = [group](TuneState& s) {
    s.begin(group.name());
    s.adopt_group(group);
  };
  return duel(state, group.what, group.share, adopt, merged(state.best, group.decisions));
}

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
    const Measurement m =
        state.run.measurer.measure_program(merged(base, fusion), baseline, state.run.default_run.trial);
    state.run.result.steps.push_back({fmt::format("fusion proposed {}", to_text(fusion)), m, false});
    return m;
  };
  const std::vector<WalkedFusion> found =
      walk_fusion(plan.lanes[0], *plan.model, without_kernels(base), edges, start, kWalked, walk);
  for (const WalkedFusion& one : found)
    if (state.try_step(fmt::format("fusion measured {:.3f}x", one.ratio), merged(base, one.decisions))) return;
}

}  // namespace

std::vector<Experiment> orders_of_passes(const TuneState& state) {
  return alternatives(state, &TuneState::passes, {"an order of passes", kProposeOrdersSeconds, ask_for_passes});
}

std::vector<Experiment> layouts_of_program(const TuneState& state) {
  // Another order of passes leaves other instructions: layouts are those of the program under the best.
  const TuneOptions& o = state.options;
  if (o.outer.passes && o.decides(DecisionKind::Passes) && !(state.passes && state.passes->empty())) return {};
  return alternatives(state, &TuneState::layouts, {"layouts", kProposeLayoutsSeconds, ask_for_layouts});
}

std::vector<Experiment> contenders_again(const TuneState& state) {
  std::vector<const TuneState::Contender*> open;
  const std::string best = to_text(state.best);
  for (const TuneState::Contender& contender : state.contenders)
    if (contender.under != best && !state.begun("again " + contender.alternative.what)) open.push_back(&contender);
  std::stable_sort(open.begin(), open.end(), [](auto* a, auto* b) { return a->ratio > b->ratio; });
  if (open.size() > static_cast<size_t>(state.options.outer.contenders)) open.resize(state.options.outer.contenders);
  std::vector<Experiment> experiments;
  for (const TuneState::Contender* contender : open)
    experiments.push_back(duel(state, contender->alternative.what + ", again", state.share_outside_libraries(),
                               [alternative = contender->alternative](TuneState& s) {
                                 s.begin("again " + alternative.what);
                                 s.try_step(alternative.what + ", again", merged(s.best, alternative.decisions));
                               }));
  return experiments;
}

Propose groups_of(Belongs belongs) {
  return [belongs](const TuneState& state) {
    std::set<std::pair<DecisionKind, std::string>> moves;
    for (const Dimension& d : state.dimensions)
      if (belongs(d))
        for (const std::string& option : d.options) moves.emplace(d.kind, option);
    std::vector<Experiment> experiments;
    for (const auto& [kind, option] : moves) {
      const TuneState::Group group = group_of(state, belongs, kind, option);
      if (!group.decisions.empty() && !state.ever_begun(group.name())) experiments.push_back(try_group(state, group));
    }
    return experiments;
  };
}

Propose groups_of_family(FamilyId family) {
  return groups_of([family](const Dimension& d) { return belongs_to(family, d.kind, d.key); });
}

Propose parts_of_groups(bool kernels) {
  return [kernels](const TuneState& state) {
    std::vector<Experiment> experiments;
    for (size_t i = 0; i < state.parts.size(); ++i) {
      const TuneState::Group& part = state.parts[i];
      if (part.kernels != kernels) continue;
      const auto adopt = [i](TuneState& s) {
        const TuneState::Group taken = s.parts[i];
        s.parts.erase(s.parts.begin() + static_cast<std::ptrdiff_t>(i));
        s.adopt_group(taken);
      };
      experiments.push_back(duel(state, fmt::format("{} of {}", part.decisions.size(), part.what), part.share, adopt,
                                 merged(state.best, part.decisions)));
    }
    return experiments;
  };
}

namespace {

// Packing pays in the dots that YNNPACK runs, so it is tried with all of them there.
Decisions with_single(const TuneState& state, const Dimension& dimension, int option) {
  Decisions candidate = with_option(state.best, dimension, option);
  if (!packs_weights(as_decision(dimension, option))) return candidate;
  std::erase_if(candidate, [&](const Decision& d) {
    return d.kind == DecisionKind::Library &&
           std::any_of(state.lowered.kernels.begin(), state.lowered.kernels.end(),
                       [&](const Kernel& kernel) { return kernel.kind == "dot" && kernel.dimension.key == d.key; });
  });
  return candidate;
}

}  // namespace

Propose single_options(Chooses chooses, bool again) {
  return [chooses, again](const TuneState& state) {
    std::vector<Experiment> experiments;
    for (size_t at = 0; at < state.dimensions.size(); ++at) {
      const Dimension& d = state.dimensions[at];
      if (state.measured_as_kernel(d)) continue;
      const int current = current_option(state.best, d);
      for (int i = 0; i < static_cast<int>(d.options.size()); ++i) {
        const std::string what = in_words(as_decision(d, i)), name = to_text(Decisions{as_decision(d, i)});
        if (i == current || !chooses(d, d.options[i]) || state.begun(name) || state.ever_begun(name) != again) continue;
        const auto take = [at, i, what, name](TuneState& s) {
          s.begin(name);
          s.try_step(what, with_single(s, s.dimensions[at], i));
        };
        experiments.push_back(duel(state, what, state.share_of(d), take, with_single(state, d, i)));
      }
    }
    return experiments;
  };
}

std::vector<Experiment> weights_computed_once(const TuneState& state) {
  if (state.share_of_weights() < kLeastOfWeights) return {};
  for (const Dimension& d : state.dimensions) {
    const Decision constant{d.kind, d.key, "constant"};
    const std::string name = to_text(Decisions{constant});
    if (d.kind != DecisionKind::Weights || !is_broad(d) || state.ever_begun(name) ||
        std::find(d.options.begin(), d.options.end(), constant.value) == d.options.end() ||
        d.options[current_option(state.best, d)] == constant.value)
      continue;
    const auto take = [constant, name](TuneState& s) {
      s.begin(name);
      s.try_step(in_words(constant), merged(s.best, {constant}));
    };
    return {duel(state, in_words(constant), state.share_of_weights(), take, merged(state.best, {constant}))};
  }
  return {};
}

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
  search_dimensions(state, *make_anneal({.start_temperature = kAnnealTemperature}), edges, start,
                    kAnnealShare * left());
}

}  // namespace hone::tune
