#include "tune/program/program_tuner.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "tune/program/tune_steps.h"
#include "tune/session/decision_list.h"

namespace hone::tune {

namespace {

// The share of the time left at its beginning that a step may take.
struct Share {
  double of = 1;
  bool reserve_kept = false;   // the time reserved for fusion is not counted and stays reserved
  bool with_previous = false;  // shared with the step above: counted from the time when that began
};

struct TuneStep {
  const char* name;
  StepFunction run;
  bool (*applies)(const TuneOptions&);
  Share share;
};

// ---- which steps a tune takes

bool always(const TuneOptions&) { return true; }
bool kernels_alone(const TuneOptions& o) { return o.kernels_only; }
bool fusion_alone(const TuneOptions& o) { return !o.kernels_only && o.fusion_plan.only; }
bool jointly(const TuneOptions& o) { return !o.kernels_only && !o.fusion_plan.only; }
bool greedily(const TuneOptions& o) { return jointly(o) && o.strategy.empty(); }
bool by_strategy(const TuneOptions& o) { return jointly(o) && !o.strategy.empty(); }
bool with_passes(const TuneOptions& o) { return jointly(o) && o.outer.passes && o.decides(DecisionKind::Passes); }
bool with_layouts(const TuneOptions& o) { return jointly(o) && o.outer.layouts && o.decides(DecisionKind::Layout); }
bool with_fusion(const TuneOptions& o) { return jointly(o) && o.fusion && o.decides(DecisionKind::Fusion); }

// ---- the steps

constexpr Share kRest{};                                        // all that is left
constexpr Share kRestButFusion{.of = 1, .reserve_kept = true};  // the same without the time reserved for fusion
constexpr Share share_of(double of) { return {.of = of}; }
constexpr Share same_share(double of) { return {.of = of, .with_previous = true}; }

// The steps of a tune in their order. docs/decisions/0005 has the measurements behind it, 0014 explains how to change
// it.
const std::vector<TuneStep>& tune_steps() {
  static const std::vector<TuneStep> steps = {
      // Default XLA's lowering of the program: its kernels and the dimensions that can be decided.
      {"lower default XLA", lower_default, always, kRest},

      // Tunes of one part of the program end here.
      {"kernels alone", tune_kernels_of_lowering, kernels_alone, kRest},
      {"fusion alone", tune_fusion, fusion_alone, kRest},

      // Convolutions and poolings as shifted slices, before all else: a gain of ten times makes every later duel shorter.
      // All grouped convolutions at once, then the gradients of their weights, then all poolings: each may pay alone.
      {"grouped convolutions", move_family(FamilyId::GroupedConvolution), greedily, share_of(0.25)},
      {"gradients of weights", move_family(FamilyId::WeightsGradient), greedily, same_share(0.25)},
      {"poolings", move_family(FamilyId::Pooling), greedily, same_share(0.25)},
      {"lower the best", lower_best, jointly, kRest},

      // Passes ahead of XLA's own pipeline and layouts decide which kernels and dimensions there are, so whole programs
      // are
      // compared first. The layouts are proposed for the best order of passes.
      {"orders of passes", order_passes, with_passes, share_of(0.15)},
      {"layouts", choose_layouts, with_layouts, same_share(0.15)},
      {"lower the best", lower_best, jointly, kRest},
      // Listed only here: later decisions are about this program.
      {"list the dimensions", list_dimensions, jointly, kRest},

      // Fusion has the largest gains of some programs. It comes late, so time is reserved for it.
      {"keep time for fusion", reserve_fusion_time, with_fusion, share_of(0.35)},

      // Broad moves before kernels: one duel each, large gains, and they decide which kernels there are to tune. Libraries
      // come later: dots are kernels, and one library for all of them hides that each has its own best.
      {"reductions", move_family(FamilyId::Reduction), greedily, share_of(0.25)},
      {"broad moves", broad_moves_but_libraries, greedily, same_share(0.25)},
      {"lower the best", lower_best, jointly, kRest},

      // Each kernel by itself, most expensive first, then the winners together.
      {"kernels", tune_kernels_of_lowering, jointly, {.of = 0.45, .reserve_kept = true}},

      // Again if the best has changed, now with one library for all dots, which must beat each dot's own best.
      {"broad moves again", broad_moves, greedily, kRestButFusion},
      // A program has dozens of weights and libraries: one duel of all shows more than dozens of duels below the noise.
      {"single dimensions, grouped", move_groups(is_single), greedily, kRestButFusion},
      {"coordinate descent", descend, greedily, kRestButFusion},
      // With a strategy, instead of the three steps above.
      {"strategy", search_by_strategy, by_strategy, kRestButFusion},

      // Fusion configurations are compared on the program with all other decisions.
      {"fusion", tune_fusion, with_fusion, kRest},
      // Orders of passes and layouts that nearly won may win with the decisions made since.
      {"contenders", retry_contenders, jointly, share_of(0.5)},
      // The dimensions that had no time before fusion.
      {"coordinate descent again", descend, greedily, kRest},
  };
  return steps;
}

StepTime time_of(const Share& share, double left_s, double reserve_s) {
  const double kept_s = share.reserve_kept ? reserve_s : 0;
  const double free_s = left_s - kept_s;
  return {.until_s = kept_s + (1 - share.of) * free_s, .budget_s = share.of * free_s};
}

void search(TuneState& state) {
  double left_s = state.left();
  for (const TuneStep& step : tune_steps()) {
    if (!step.share.with_previous) left_s = state.left();
    if (!step.applies(state.options)) continue;
    const StepTime time = time_of(step.share, left_s, state.fusion_reserve_s);
    spdlog::debug("tune: {}, {:.1f} s left, at most {:.1f} s for it", step.name, state.left(), time.budget_s);
    step.run(state, time);
  }
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
