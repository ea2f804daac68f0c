#include "tune/program/program_tuner.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "base/log.h"
#include "graph/packed_weights.h"
#include "graph/program_option.h"
#include "search/yield_belief.h"
#include "tune/program/experiments.h"
#include "tune/session/decision_list.h"

namespace hone::tune {

namespace {

// A kind of experiment. `prior`: fitted to tunes of training programs (bench/autotune/priors.py, docs/decisions/0016) but for
// operations, gradients of poolings, argmax, sines, layouts, orders of passes, weights, contenders and strategies, which these do
// not have: estimated.
struct TuneStep {
  std::string name;
  Propose propose;
  bool (*applies)(const TuneOptions&);
  YieldPrior prior;
  bool about_kernels = false;  // each experiment is about one kernel
  bool adopts = false;         // it adopts what other experiments found
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
bool any_option(const Dimension&, const std::string&) { return true; }

// Options of the whole program that pay differently.
struct Move {
  const char* key;
  const char* option;
  YieldPrior prior;
};
constexpr Move kMoves[] = {
    {"loop_unrolling", "off", {.kept = 0.2, .gain = 0.1}},
    {"vector_width", "512", {.kept = 0.35, .gain = 0.073}},
    {"multi_output_fusion", "on", {.kept = 0.21, .gain = 0.115}},
    {"tiled_emitter", "off", {.kept = 0.057, .gain = 0.1}},
    {"fusion_duplication", "forbid", {.kept = 0.052, .gain = 0.064}},
    {"huge_pages", "on", {.kept = 0.1, .gain = 0.02}},
    {"vector_width", "128", {.kept = 0.048, .gain = 0.063}},
    {kWaitPolicy, "active", {.kept = 0.6, .gain = 0.1}},
    {kIntraOpThreads, "1", {.kept = 0.1, .gain = 0.2}},
    {kIntraOpThreads, "half", {.kept = 0.1, .gain = 0.1}},
};

bool is_move(const Move& move, const Dimension& d, const std::string& option) {
  return d.kind == DecisionKind::Option && d.key == move.key && option == move.option;
}
bool is_weights_move(const Dimension& d, const std::string&) { return is_broad(d) && d.kind == DecisionKind::Weights; }
bool is_packing(const Dimension& d, const std::string& option) {
  return is_broad(d) && packs_weights({d.kind, d.key, option});
}
// Libraries for everything, the way back, and what is new.
bool is_other_move(const Dimension& d, const std::string& option) {
  return is_broad(d) && !is_weights_move(d, option) &&
         std::none_of(std::begin(kMoves), std::end(kMoves), [&](const Move& m) { return is_move(m, d, option); });
}

constexpr double kAlmostAll = 2.7;  // a logarithm: the share that adopting kernels touches is what they save

std::vector<TuneStep> make_steps() {
  std::vector<TuneStep> steps = {
      // Convolutions and poolings as shifted slices: gains of ten times and more where XLA has no library.
      {"grouped convolutions", groups_of_family(FamilyId::GroupedConvolution), greedily, {.kept = 0.41, .gain = 1.9}},
      {"gradients of weights", groups_of_family(FamilyId::WeightsGradient), greedily, {.kept = 0.3, .gain = 1}},
      {"predicted operations", predicted_operations, greedily, {.kept = 0.7, .gain = kAlmostAll}},
      {"oneDNN", onednn_everywhere, greedily, {.kept = 0.6, .gain = 0.3}},
      // Each operation is measured by itself, as kernels are.
      {"convolutions", operations_of_family(FamilyId::DenseConvolution), greedily, {.kept = 0.5, .gain = 0.4}},
      {"half-precision dots", operations_of_family(FamilyId::HalfDot), greedily, {.kept = 0.5, .gain = 0.6}},
      {"dots", operations_of_family(FamilyId::FloatDot), greedily, {.kept = 0.6, .gain = 0.25}},
      {"winning operations", winning_operations, greedily, {.kept = 0.8, .gain = kAlmostAll}, false, true},
      {"gradients of poolings", groups_of_family(FamilyId::PoolingGradient), greedily, {.kept = 0.6, .gain = 1}},
      {"argmax and argmin", groups_of_family(FamilyId::ArgReduction), greedily, {.kept = 0.6, .gain = 0.5}},
      {"sines and cosines", groups_of_family(FamilyId::Sine), greedily, {.kept = 0.3, .gain = 0.3}},
      {"attention", groups_of_family(FamilyId::Attention), greedily, {.kept = 0.5, .gain = 0.2}},
      {"recurrent loops", groups_of_family(FamilyId::Recurrence), greedily, {.kept = 0.3, .gain = 0.05}},
      {"sorts", groups_of_family(FamilyId::Sort), greedily, {.kept = 0.8, .gain = 2}},
      {"cumulative sums", groups_of_family(FamilyId::CumulativeSum), greedily, {.kept = 0.6, .gain = 0.8}},
      {"whole sums", groups_of_family(FamilyId::WholeSum), greedily, {.kept = 0.3, .gain = 0.1}},
      {"powers", groups_of_family(FamilyId::Power), greedily, {.kept = 0.4, .gain = 0.5}},
      {"short loops", groups_of_family(FamilyId::ShortLoop), greedily, {.kept = 0.3, .gain = 0.3}},
      {"small dots", groups_of_family(FamilyId::SmallDot), greedily, {.kept = 0.4, .gain = 0.4}},
      {"poolings", groups_of_family(FamilyId::Pooling), greedily, {.kept = 0.34, .gain = 0.53}},
      // They decide which kernels and dimensions there are.
      {"orders of passes", orders_of_passes, with_passes, {.kept = 0.1, .gain = 0.08}},
      {"layouts", layouts_of_program, with_layouts, {.kept = 0.04, .gain = 0.12}},
      // One duel each, for everything of a kind.
      {"reductions", groups_of_family(FamilyId::Reduction), greedily, {.kept = 0.16, .gain = 0.41}},
      {"packed weights", single_options(is_packing, /*again=*/false), greedily, {.kept = 0.5, .gain = 0.3}},
      {"weights computed once", weights_computed_once, greedily, {.kept = 0.7, .gain = kAlmostAll}},
      {"weights at once", single_options(is_weights_move, /*again=*/false), greedily, {.kept = 0.1, .gain = 0.1}},
      {"other moves", single_options(is_other_move, /*again=*/false), greedily, {.kept = 0.045, .gain = 0.02}},
      // Each kernel is measured by itself, so the cost does not depend on the program's.
      {"kernels", kernels_of_program, with_kernels, {.kept = 0.28, .gain = 0.13}, true},
      // One option of each of them in one duel of the program.
      {"kernels in place", kernels_in_place, with_kernels, {.kept = 0.55, .gain = 0.043}, true},
      {"winning kernels", winning_kernels, with_kernels, {.kept = 0.59, .gain = kAlmostAll}, false, true},
      {"parts of winning kernels", parts_of_groups(true), with_kernels, {.kept = 0.4, .gain = kAlmostAll}},
      {"parts of groups", parts_of_groups(false), greedily, {.kept = 0.03, .gain = 0.15}},
      // Weights and libraries: there are dozens of each.
      {"single dimensions, grouped", groups_of(is_single), greedily, {.kept = 0.1, .gain = 0.1}},
      {"single options", single_options(any_option, /*again=*/false), greedily, {.kept = 0.03, .gain = 0.05}},
      {"options again", single_options(any_option, /*again=*/true), greedily, {.kept = 0.01, .gain = 0.05}},
      // With --strategy, in place of all greedy rows.
      {"strategy", by_strategy, with_strategy, {.kept = 0.9, .gain = 2}},
      // Some of the largest gains, but each run takes dozens of duels.
      {"fusion", fusion_of_program, with_fusion, {.kept = 0.46, .gain = 0.18}},
      // Orders of passes and layouts that nearly won may win with what was decided since.
      {"contenders", contenders_again, jointly, {.kept = 0.15, .gain = 0.05}},
  };
  for (const Move& move : kMoves)
    steps.push_back({in_words({DecisionKind::Option, move.key, move.option}),
                     single_options([&move](const Dimension& d, const std::string& o) { return is_move(move, d, o); },
                                    /*again=*/false),
                     greedily, move.prior});
  return steps;
}

// All kinds of experiments. Among equal rates the first row comes first.
const std::vector<TuneStep>& tune_steps() {
  static const std::vector<TuneStep> steps = make_steps();
  return steps;
}

// ---- the schedule

// The limit of an experiment, in multiples of its predicted time.
constexpr double kMostOfPredicted = 3;
constexpr double kAdoption = 1.3;  // time kept back for adopting kernels, in duels
constexpr size_t kPrepared = 3;    // candidates

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

  // Runs the experiment with the largest expected gain per second, until no open one fits into the time left.
  void run() {
    while (state_.left() > 0) {
      const std::vector<Next> ranked = rank();
      if (ranked.empty()) return;
      const Next& next = ranked.front();
      prepare(ranked);
      begin(next);
      state_.refresh();
    }
  }

  // The experiments that are still open.
  Untried untried() const {
    Untried rest;
    double gain = 0;
    for (size_t i = 0; i < beliefs_.size(); ++i)
      for (const Experiment& e : open(i)) {
        ++rest.experiments;
        rest.kernels += tune_steps()[i].about_kernels;
        rest.seconds += beliefs_[i].cost_s(e.cost_s);
        gain += expected(i, e);
      }
    rest.gain = std::exp(gain);
    return rest;
  }

 private:
  std::vector<Experiment> open(size_t step) const {
    const TuneStep& row = tune_steps()[step];
    return row.applies(state_.options) ? row.propose(state_) : std::vector<Experiment>();
  }

  // Gain of the program, a logarithm.
  double expected(size_t step, const Experiment& e) const {
    return e.gain ? program_gain(e.share, *e.gain) : beliefs_[step].expected(e.share);
  }

  // The experiments that fit into the time left, the largest rate first. Keeps time for adopting winning kernels, whose gains
  // are measured already.
  std::vector<Next> rank() const {
    std::vector<Next> ranked;
    const double kept_s =
        winning_kernels(state_).empty() && winning_operations(state_).empty() ? 0 : kAdoption * state_.duel_s();
    for (size_t i = 0; i < beliefs_.size(); ++i) {
      const double left_s = state_.left() - (tune_steps()[i].adopts ? 0 : kept_s);
      for (Experiment& e : open(i)) {
        const double rate = expected(i, e) / beliefs_[i].cost_s(e.cost_s);
        if (rate > 0 && beliefs_[i].cost_s(e.cost_s) <= left_s) ranked.push_back({i, std::move(e), rate});
      }
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const Next& a, const Next& b) { return a.rate > b.rate; });
    return ranked;
  }

  // Has the candidates of the next experiments compiled while the first one is measured.
  void prepare(const std::vector<Next>& ranked) {
    std::vector<Decisions> candidates;
    for (size_t i = 1; i < ranked.size() && candidates.size() < kPrepared; ++i)
      if (!ranked[i].experiment.first.empty()) candidates.push_back(ranked[i].experiment.first);
    if (!candidates.empty()) state_.run.measurer.prepare(candidates);
  }

  void begin(const Next& next) {
    const TuneStep& step = tune_steps()[next.step];
    YieldBelief& belief = beliefs_[next.step];
    ScheduledExperiment row{.step = step.name,
                            .what = next.experiment.what,
                            .share = next.experiment.share,
                            .expected = expected(next.step, next.experiment),
                            .predicted_s = belief.cost_s(next.experiment.cost_s)};
    spdlog::debug("tune: {}: {}, {:.1f} s left, {:.2f} s for {:.4f} expected", row.step, row.what, state_.left(),
                  row.predicted_s, row.expected);
    const double before_s = state_.run.measurer.seconds_left();
    row.gain = next.experiment.run(state_, std::min(state_.left(), kMostOfPredicted * row.predicted_s));
    row.took_s = before_s - state_.run.measurer.seconds_left();
    belief.observe(row.gain, next.experiment.cost_s, row.took_s);
    state_.run.result.schedule.push_back(std::move(row));
  }

  TuneState& state_;
  std::vector<YieldBelief> beliefs_;
};

// Adds winners for which no time was left to the candidates of the confirmation.
void keep_winners(TuneState& state) {
  Decisions candidate = state.best;
  double share = 0;
  for (const bool of_operations : {true, false}) {
    const TuneState::Group group = state.winners(of_operations);
    candidate = merged(candidate, group.decisions);
    share = std::min(1.0, share + group.share);
  }
  if (candidate != state.best) state.run.found.push_back({candidate, state.run.gain / (1 - 0.9 * share)});
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
