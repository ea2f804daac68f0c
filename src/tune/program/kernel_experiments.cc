// Experiments about kernels: each by itself, many at once in the program, and those that won.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/log.h"
#include "cost/operation_ranker.h"
#include "graph/operation_key.h"
#include "search/yield_belief.h"
#include "tune/kernel/kernel_tuner.h"
#include "tune/program/experiments.h"
#include "tune/session/decision_list.h"

namespace hone::tune {

namespace {

constexpr double kShortestNs = 5e3;      // of a call that can be timed in the program
constexpr double kOptionSeconds = 0.01;  // of compiling one option, as a rule
constexpr double kLinkShare = 0.1;       // of compiling the program, for a candidate whose other kernels are compiled
constexpr double kRoundBudgetMs = 400;
constexpr double kFormSeconds = 0.3;  // of compiling one form of an operation
constexpr double kRankedForms = 2;    // that are measured of an operation where a model ranks them
constexpr double kSlowRound = 0.5;    // of the program's speed: one option is so slow that two runs of all must do

bool is_searched(const TuneState& state, const Kernel& kernel) {
  return state.options.decides(kernel.dimension.kind) && kernel.dimension.options.size() > 1 &&
         state.share_of(kernel) >= kNegligibleShare;
}

// ---- many kernels in one run

bool open_in_place(const TuneState& state, const Kernel& kernel) {
  const double call_ns = 1e9 * state.share_of(kernel) * state.run_s() / kernel.runs;
  return is_searched(state, kernel) && !kernel.instructions.empty() && call_ns >= kShortestNs &&
         !state.closed_in_place.contains(kernel.fingerprint);
}

// What the next option of a kernel can change: its share of the program's time, less the more options were tried. Of n options
// in any order, the default among them, the last is the best so far with probability 1/n.
double share_of_next(const TuneState& state, const Kernel& kernel) {
  return state.share_of(kernel) * 2 / (2 + state.tried_in_place(kernel));
}

// The kernels that a round should have for the largest share per second: by share, as long as the next one adds more per
// second of its compilation than the round has without it.
std::vector<size_t> most_per_second(const TuneState& state, double round_s) {
  std::vector<size_t> open;
  for (size_t at = 0; at < state.lowered.kernels.size(); ++at)
    if (open_in_place(state, state.lowered.kernels[at])) open.push_back(at);
  const auto share = [&](size_t at) { return share_of_next(state, state.lowered.kernels[at]); };
  std::stable_sort(open.begin(), open.end(), [&](size_t a, size_t b) { return share(a) > share(b); });
  double shares = 0;
  for (size_t n = 0; n < open.size(); ++n) {
    const double seconds = round_s + kOptionSeconds * static_cast<double>(n);
    if (share(open[n]) / kOptionSeconds < shares / seconds) {
      open.resize(n);
      break;
    }
    shares += share(open[n]);
  }
  return open;
}

// An option of a kernel that the next candidate gets.
struct Entry {
  const Kernel* kernel;
  OptionWalk* walk;
  int option;
};

// Measures the options in one candidate. If that fails, those of each half, until it is known which option fails; where there
// is no time for that, none of them is tried again.
void measure_entries(TuneState& state, const std::vector<Entry>& entries, const Duel& duel, double stop_at) {
  if (entries.empty()) return;
  if (state.left() <= std::max(0.0, stop_at)) {
    for (const Entry& e : entries) e.walk->tell(e.option, {.outcome = Outcome::TimedOut});
    return;
  }
  std::vector<const Kernel*> kernels;
  Decisions baseline = state.best, options;
  for (const Entry& e : entries) {
    kernels.push_back(e.kernel);
    options.push_back(as_decision(e.kernel->dimension, e.option));
    std::erase_if(baseline,
                  [&](const Decision& d) { return d.kind == options.back().kind && d.key == options.back().key; });
  }
  const InPlaceDuel found = state.run.measurer.measure_in_place(merged(baseline, options), baseline, kernels, duel);
  if (!found.program.ok() && entries.size() > 1) {
    const auto middle = entries.begin() + static_cast<std::ptrdiff_t>(entries.size() / 2);
    measure_entries(state, {entries.begin(), middle}, duel, stop_at);
    measure_entries(state, {middle, entries.end()}, duel, stop_at);
    return;
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i].walk->tell(entries[i].option, found.kernels[i]);
    if (!found.program.ok() || found.kernels[i].ok()) continue;
    state.closed_in_place.insert(entries[i].kernel->fingerprint);  // the profiler does not see it
    state.seen_kernels.erase(entries[i].kernel->fingerprint);
  }
}

// Share of the program's time that the kernels' best options save.
double saved(const std::vector<KernelReport>& reports) {
  return std::accumulate(reports.begin(), reports.end(), 0.0,
                         [](double sum, const KernelReport& k) { return sum + k.share * (1 - 1 / k.gain); });
}

void measure_round(TuneState& state, const std::vector<size_t>& kernels, const Duel& duel, double budget_s) {
  const double stop_at = state.left() - budget_s;
  std::vector<Entry> entries;
  for (const size_t at : kernels) {
    const Kernel& kernel = state.lowered.kernels[at];
    OptionWalk* walk = state.walk_in_place(kernel);
    const std::optional<int> option = walk == nullptr ? std::nullopt : walk->next(state.rng);
    if (!option) {
      state.closed_in_place.insert(kernel.fingerprint);
      if (walk != nullptr) state.report_in_place(kernel, /*complete=*/true);
      continue;
    }
    entries.push_back({&kernel, walk, *option});
  }
  state.say(fmt::format("{} kernels in place", entries.size()));
  measure_entries(state, entries, duel, stop_at);
  for (const Entry& e : entries) state.report_in_place(*e.kernel, /*complete=*/false);
}

}  // namespace

std::vector<Experiment> kernels_of_program(const TuneState& state) {
  std::vector<Experiment> experiments;
  for (size_t at = 0; at < state.lowered.kernels.size(); ++at) {
    const Kernel& kernel = state.lowered.kernels[at];
    if (!is_searched(state, kernel) || state.seen_kernels.contains(kernel.fingerprint)) continue;
    const double share = state.share_of(kernel);
    experiments.push_back(
        {"kernel " + kernel.name, share,
         kernel_cost_s(kernel, share * state.run_s() / kernel.runs, state.options.kernel),
         [at](TuneState& s, double budget_s) { return s.tune_one_kernel(s.lowered.kernels[at], budget_s); }});
  }
  return experiments;
}

std::vector<Experiment> kernels_in_place(const TuneState& state) {
  if (!state.in_place()) return {};
  Duel duel = state.run.default_run.trial;
  duel.budget_ms = std::min(duel.budget_ms, kRoundBudgetMs);
  duel.precision = 0;  // the rounds are for the kernels, though the program's ratio may be known sooner
  duel.abandon_ratio = kSlowRound;
  const double runs_s = std::max(2 * (duel.min_rounds + 1) * state.run_s(), duel.budget_ms / 1e3);
  const double round_s = kLinkShare * state.compile_s() + runs_s;
  const std::vector<size_t> kernels = most_per_second(state, round_s);
  if (kernels.empty()) return {};
  double share = 0;
  for (const size_t at : kernels) share += share_of_next(state, state.lowered.kernels[at]);
  share = std::min(1.0, share);
  const auto run = [kernels, duel, share](TuneState& s, double budget_s) {
    const double before = saved(s.run.result.kernels);
    measure_round(s, kernels, duel, budget_s);
    const double gained = saved(s.run.result.kernels) - before;
    return gained > 0 && gained < 1 ? touched_gain(share, -std::log(1 - gained)) : 0;
  };
  return {{fmt::format("{} kernels in place", kernels.size()), share,
           round_s + kOptionSeconds * static_cast<double>(kernels.size()), run}};
}

namespace {

std::vector<Experiment> adopt_winners(const TuneState& state, bool operations) {
  const TuneState::Group group = state.winners(operations);
  const bool visible =
      group.share > 1 - 1 / state.options.min_gain;  // else no duel would keep them: they wait for more
  if (!visible || state.begun(group.name())) return {};
  const auto adopt = [group](TuneState& s, double) {
    s.begin(group.name());
    const double before = s.run.gain;
    if (group.kernels)
      s.adopt_kernels(group);
    else
      s.adopt_group(group);
    return touched_gain(group.share, std::log(s.run.gain / before));
  };
  return {{group.what, std::clamp(group.share, 0.0, 1.0), state.duel_s(), adopt, merged(state.best, group.decisions)}};
}

}  // namespace

std::vector<Experiment> winning_kernels(const TuneState& state) { return adopt_winners(state, /*operations=*/false); }

std::vector<Experiment> winning_operations(const TuneState& state) { return adopt_winners(state, /*operations=*/true); }

std::vector<Experiment> predicted_operations(const TuneState& state) {
  static constexpr char kName[] = "predicted operations";
  if (state.ever_begun(kName)) return {};
  const std::vector<TuneState::PredictedForm> forms = state.predicted();
  const bool only = forms.size() == 1 && is_alone(forms[0].operation.dimension);  // measured by itself
  if (forms.empty() || only) return {};
  double share = 0;
  for (const TuneState::PredictedForm& form : forms) share = std::min(1.0, share + form.saved);
  const auto adopt = [forms, share](TuneState& s, double) {
    s.begin(kName);
    const double before = s.run.gain;
    s.adopt_forms(forms, "predicted", /*least_ratio=*/1, {.what = "", .decisions = {}, .share = 0});
    return touched_gain(share, std::log(s.run.gain / before));
  };
  const double cost_s = state.duel_s() + kFormSeconds * static_cast<double>(forms.size());
  return {{fmt::format("{} forms", forms.size()), share, cost_s, adopt}};
}

std::vector<Experiment> onednn_everywhere(const TuneState& state) {
  static constexpr char kName[] = "oneDNN everywhere";
  constexpr double kHopeless = -0.2;  // predicted, a logarithm: the steps that follow do not make up for it
  if (state.ever_begun(kName) || !state.options.operations) return {};
  TuneState::Group group{.what = "", .decisions = {}, .share = 0};
  std::vector<TuneState::PredictedForm> alone;  // run once by themselves, for their error
  const auto open = [&](const Dimension& d) {
    return std::find(d.options.begin(), d.options.end(), kOneDnn) != d.options.end() &&
           current_option(state.best, d) == d.default_option;
  };
  double share = 0;
  const cost::OperationRanker* ranker = state.options.operation_ranker;
  for (const Kernel& op : state.operations) {
    const auto gain = ranker == nullptr ? std::nullopt : ranker->gain(op, kOneDnn);
    if (!op.under.empty() || (gain && gain->middle < kHopeless) || !open(op.dimension)) continue;
    alone.push_back({op, kOneDnn, state.share_of(op)});
    share += alone.back().saved;
  }
  for (const Dimension& d : state.dimensions) {
    if (!belongs_to(FamilyId::GroupedConvolution, d.kind, d.key) || !open(d)) continue;
    const auto gain = ranker == nullptr ? std::nullopt : ranker->gain(operation_alone(d, {}), kOneDnn);
    if (gain && gain->middle < kHopeless) continue;
    group.decisions.push_back({d.kind, d.key, kOneDnn});
    group.share += state.share_of(d);
  }
  const size_t count = alone.size() + group.decisions.size();
  if (count < 2) return {};
  share = std::min(1.0, share + group.share);
  const auto adopt = [group, alone, share](TuneState& s, double) {
    s.begin(kName);
    const double before = s.run.gain;
    s.adopt_forms(alone, "oneDNN", /*least_ratio=*/0, group);
    return touched_gain(share, std::log(s.run.gain / before));
  };
  const double cost_s = state.duel_s() + kFormSeconds * static_cast<double>(alone.size());
  return {{fmt::format("oneDNN for {} operations", count), share, cost_s, adopt}};
}

Propose operations_of_family(FamilyId family) {
  return [family](const TuneState& state) {
    std::vector<Experiment> experiments;
    for (size_t at = 0; at < state.operations.size(); ++at) {
      const Kernel& op = state.operations[at];
      const double share = state.share_of(op);
      if (!belongs_to(family, op.dimension.kind, op.dimension.key) || share < kNegligibleShare ||
          state.seen_kernels.contains(op.fingerprint))
        continue;
      const std::optional<double> expected = state.expected_gain(op);
      const auto forms = static_cast<double>(op.dimension.options.size() - 1);
      const double tried = expected ? std::min(forms, kRankedForms) : forms;
      const double cost_s = kernel_cost_s(op, share * state.run_s() / op.count, state.options.kernel) * tried / forms +
                            kFormSeconds * tried;
      const auto measure = [at](TuneState& s, double budget_s) {
        return s.tune_one_kernel(s.operations[at], budget_s);
      };
      experiments.push_back({op.kind + " " + op.name, share, cost_s, measure, {}, expected});
    }
    return experiments;
  };
}

}  // namespace hone::tune
