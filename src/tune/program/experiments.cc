#include "tune/program/experiments.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "graph/packed_weights.h"
#include "search/yield_belief.h"
#include "tune/session/decision_list.h"

namespace hone::tune {

namespace {

constexpr double kNearTheBest = 0.97;     // of the best's speed: a contender
constexpr double kLeastOfWeights = 0.01;  // of a run's time
constexpr double kProposeOrdersSeconds = 4;
constexpr double kProposeLayoutsSeconds = 0.2;  // spread over those that follow

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

}  // namespace

double gain_of(TuneState& state, double share, const std::function<void()>& work) {
  const double before = state.run.gain;
  work();
  return touched_gain(share, std::log(state.run.gain / before));
}

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

}  // namespace hone::tune
