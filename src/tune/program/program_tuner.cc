#include "tune/program/program_tuner.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "base/log.h"
#include "search/yield_belief.h"
#include "tune/program/experiments.h"
#include "tune/session/decision_list.h"

namespace hone::tune {

namespace {

// A kind of experiment. `prior`: what is known about it before the first of a run, from tunes of programs that are not for
// testing (docs/decisions/0016).
struct TuneStep {
  const char* name;
  Propose propose;
  bool (*applies)(const TuneOptions&);
  YieldPrior prior;
  bool about_kernels = false;  // of one kernel each
  bool adopts = false;         // what other experiments found
};

// ---- which experiments a tune may take

bool with_kernels(const TuneOptions& o) { return !o.fusion_plan.only; }
bool jointly(const TuneOptions& o) { return with_kernels(o) && !o.kernels_only; }
bool greedily(const TuneOptions& o) { return jointly(o) && o.strategy.empty(); }
bool with_strategy(const TuneOptions& o) { return jointly(o) && !o.strategy.empty(); }
bool with_passes(const TuneOptions& o) { return jointly(o) && o.outer.passes && o.decides(DecisionKind::Passes); }
bool with_layouts(const TuneOptions& o) { return jointly(o) && o.outer.layouts && o.decides(DecisionKind::Layout); }
bool with_fusion(const TuneOptions& o) {
  return o.fusion_plan.only || (jointly(o) && o.fusion && o.decides(DecisionKind::Fusion));
}
bool any_dimension(const Dimension&) { return true; }

constexpr double kAlmostAll = 2.7;  // logarithm: of what is saved, which is the share that adopting kernels touches

// What a tune can do. Rows stand in the order in which they are tried where they promise the same per second.
const std::vector<TuneStep>& tune_steps() {
  static const std::vector<TuneStep> steps = {
      // Convolutions and poolings as shifted slices: gains of ten times and more where XLA has no library.
      {"grouped convolutions", groups_of_family(FamilyId::GroupedConvolution), greedily, {.kept = 0.7, .gain = 1.5}},
      {"gradients of weights", groups_of_family(FamilyId::WeightsGradient), greedily, {.kept = 0.5, .gain = 1.0}},
      {"poolings", groups_of_family(FamilyId::Pooling), greedily, {.kept = 0.4, .gain = 0.5}},
      // They decide which kernels and dimensions there are.
      {"orders of passes", orders_of_passes, with_passes, {.kept = 0.1, .gain = 0.08}},
      {"layouts", layouts_of_program, with_layouts, {.kept = 0.1, .gain = 0.08}},
      // One duel each, for everything of a kind.
      {"reductions", groups_of_family(FamilyId::Reduction), greedily, {.kept = 0.3, .gain = 0.15}},
      {"broad moves", single_options(is_broad, /*again=*/false), greedily, {.kept = 0.12, .gain = 0.1}},
      // By itself: its cost does not depend on the program's.
      {"kernels", kernels_of_program, with_kernels, {.kept = 0.35, .gain = 0.25}, true},
      {"winning kernels", winning_kernels, with_kernels, {.kept = 0.85, .gain = kAlmostAll}, false, true},
      {"parts of winning kernels", parts_of_groups(true), with_kernels, {.kept = 0.5, .gain = kAlmostAll}},
      {"parts of groups", parts_of_groups(false), greedily, {.kept = 0.12, .gain = 0.1}},
      // Weights and libraries come in dozens.
      {"single dimensions, grouped", groups_of(is_single), greedily, {.kept = 0.15, .gain = 0.12}},
      {"single options", single_options(any_dimension, /*again=*/false), greedily, {.kept = 0.06, .gain = 0.15}},
      {"options again", single_options(any_dimension, /*again=*/true), greedily, {.kept = 0.02, .gain = 0.08}},
      // In place of the three above.
      {"strategy", by_strategy, with_strategy, {.kept = 0.9, .gain = 2}},
      // Some of the largest gains, for dozens of duels.
      {"fusion", fusion_of_program, with_fusion, {.kept = 0.5, .gain = 0.12}},
      // Orders of passes and layouts that nearly won may win with what was decided since.
      {"contenders", contenders_again, jointly, {.kept = 0.15, .gain = 0.05}},
  };
  return steps;
}

// ---- the schedule

// What an experiment may take, in predictions: one that goes on for longer is worth less than what comes next.
constexpr double kPatience = 3;
constexpr double kAdoption = 1.3;  // duels that are kept back for what won on kernels

struct Next {
  size_t step = 0;
  Experiment experiment;
  double rate = -1;
};

class Schedule {
 public:
  explicit Schedule(TuneState& state) : state_(state) {
    for (const TuneStep& step : tune_steps()) beliefs_.emplace_back(step.prior);
  }

  // Always the experiment of the largest expected gain per second, until none is open that fits into the time left.
  void run() {
    while (state_.left() > 0) {
      const std::optional<Next> next = choose();
      if (!next) return;
      begin(*next);
      state_.refresh();
    }
  }

  // What is open and was not begun.
  Untried untried() const {
    Untried rest;
    double gain = 0;
    for (size_t i = 0; i < beliefs_.size(); ++i)
      for (const Experiment& e : open(i)) {
        ++rest.experiments;
        rest.kernels += tune_steps()[i].about_kernels;
        rest.seconds += beliefs_[i].cost_s(e.cost_s);
        gain += beliefs_[i].expected(e.share);
      }
    rest.gain = std::exp(gain);
    return rest;
  }

 private:
  std::vector<Experiment> open(size_t step) const {
    const TuneStep& row = tune_steps()[step];
    return row.applies(state_.options) ? row.propose(state_) : std::vector<Experiment>();
  }

  // Winning kernels are adopted before the time ends, whatever else promises more: their gains are known.
  std::optional<Next> choose() const {
    std::optional<Next> best;
    const double kept_s = winning_kernels(state_).empty() ? 0 : kAdoption * state_.duel_s();
    for (size_t i = 0; i < beliefs_.size(); ++i) {
      const double left_s = state_.left() - (tune_steps()[i].adopts ? 0 : kept_s);
      for (Experiment& e : open(i)) {
        const double rate = beliefs_[i].rate(e.share, e.cost_s);
        if (beliefs_[i].cost_s(e.cost_s) <= left_s && (!best || rate > best->rate)) best = Next{i, std::move(e), rate};
      }
    }
    return best;
  }

  void begin(const Next& next) {
    const TuneStep& step = tune_steps()[next.step];
    YieldBelief& belief = beliefs_[next.step];
    ScheduledExperiment row{.step = step.name,
                            .what = next.experiment.what,
                            .share = next.experiment.share,
                            .expected = belief.expected(next.experiment.share),
                            .predicted_s = belief.cost_s(next.experiment.cost_s)};
    spdlog::debug("tune: {}: {}, {:.1f} s left, {:.2f} s for {:.4f} expected", row.step, row.what, state_.left(),
                  row.predicted_s, row.expected);
    const double before_s = state_.run.measurer.seconds_left();
    row.gain = next.experiment.run(state_, std::min(state_.left(), kPatience * row.predicted_s));
    row.took_s = before_s - state_.run.measurer.seconds_left();
    belief.observe(row.gain, next.experiment.cost_s, row.took_s);
    state_.run.result.schedule.push_back(std::move(row));
  }

  TuneState& state_;
  std::vector<YieldBelief> beliefs_;
};

// Winners that no duel could be afforded for: the confirmation decides about them.
void keep_winners(TuneState& state) {
  const TuneState::Group group = state.winners();
  if (group.decisions.empty() || state.begun("group " + to_text(group.decisions))) return;
  state.run.found.push_back({merged(state.best, group.decisions), state.run.gain / (1 - 0.9 * group.share)});
}

void search(TuneState& state) {
  state.lower_default();
  if (state.options.fusion_plan.only) return tune_fusion(state, state.left());
  Schedule schedule(state);
  try {
    schedule.run();
  } catch (const Stopped&) {
    state.run.result.stopped = true;
  }
  state.run.result.untried = schedule.untried();
  keep_winners(state);
}

// ---- the end

FinalDuels final_duels(const TuneState& state) {
  constexpr double kLeastMs = 500;
  FinalDuels duels{.effort = state.options.confirm,
                   .processes = state.options.processes,
                   .seconds = state.confirmation_s,
                   .candidates = 4};
  const double each_ms = 1e3 * state.confirmation_s / (2 * state.options.processes);
  duels.effort.budget_ms = std::min(duels.effort.budget_ms, std::max(kLeastMs, each_ms));
  return duels;
}

// Drops decisions about kernels that other decisions removed, and marks the kernels in use.
void drop_unused_decisions(SearchRun& run) {
  ProgramResult& result = run.result;
  const Lowered plain = run.measurer.lower(without_kernels(result.decisions), false);
  std::set<std::string> keys;
  for (const Kernel& kernel : plain.kernels) keys.insert(kernel.dimension.key);
  std::erase_if(result.decisions,
                [&](const Decision& d) { return d.kind == DecisionKind::Codegen && !keys.contains(d.key); });
  if (result.decisions.empty()) result.measurement = against_itself(run.default_run.measurement);
  result.lowered = run.measurer.lower(result.decisions, false);
  mark_kept(result);
}

}  // namespace

std::vector<std::string> tune_step_names(const TuneOptions& options) {
  std::vector<std::string> names;
  for (const TuneStep& step : tune_steps())
    if (step.applies(options)) names.emplace_back(step.name);
  return names;
}

ProgramResult tune_program(Measurer& measurer, const TuneOptions& options) {
  options.validate();
  TuneState state(measurer, options);
  search_and_confirm(state.run, [&] { search(state); }, final_duels(state));
  drop_unused_decisions(state.run);
  return std::move(state.run.result);
}

}  // namespace hone::tune
