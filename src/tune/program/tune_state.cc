#include "tune/program/tune_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "tune/session/decision_list.h"

namespace hone::tune {

namespace {

constexpr double kNewKernelBudgetShare = 0.2;  // of the time left, for new kernels after a kept step
constexpr double kInvisibleShare = 0.003;      // of the program's run time: below it a duel shows no gain of a kernel
constexpr int kGroupTrials = 12;               // candidates measured for one group and its parts
constexpr int kSecondLook = 4;                 // multiple of the effort of a trial

}  // namespace

TuneState::TuneState(Measurer& measurer, const TuneOptions& tune_options)
    : options(tune_options),
      run{measurer, tune_options.on_progress},
      rng(tune_options.seed),
      confirmation_s(std::clamp(0.12 * tune_options.budget_s, 1.0, 20.0)) {}

bool TuneState::try_step(const std::string& what, const Decisions& candidate) {
  if (left() <= 0 || candidate == best || !tried_.insert(to_text(best) + " | " + to_text(candidate)).second)
    return false;
  say(what);
  const Duel& trial = run.default_run.trial;
  Step step{what, run.measurer.measure_program(candidate, best, trial), false};
  Measurement& m = step.measurement;
  if (m.ok() && m.ratio > options.min_gain && m.ratio_low <= 1 && left() > 0) {  // promising, not sure: look again
    Duel longer = trial;
    longer.budget_ms *= kSecondLook;
    longer.max_rounds *= kSecondLook;
    longer.limit_s += kSecondLook * trial.budget_ms / 1e3;
    m = run.measurer.measure_program(candidate, best, longer);
  }
  step.kept = m.ok() && m.ratio_low > 1 && m.ratio > options.min_gain;
  run.result.steps.push_back(step);
  if (!step.kept) return false;
  best = candidate;
  run.gain *= m.ratio;
  run.found.push_back({best, run.gain});
  say(what);
  return true;
}

bool TuneState::adopt_group(const std::string& what, const Decisions& group) {
  int trials = kGroupTrials;
  return adopt_part(what, group, /*whole=*/true, trials);
}

bool TuneState::adopt_part(const std::string& what, const Decisions& group, bool whole, int& trials) {
  if (group.empty() || trials-- <= 0 || left() <= 0) return false;
  const std::string name = group.size() == 1 ? in_words(group[0]) : whole ? what : "part of " + what;
  if (try_step(name, merged(best, group))) return true;
  if (group.size() == 1) return false;
  const auto middle = group.begin() + (group.size() + 1) / 2;
  const bool first = adopt_part(what, Decisions(group.begin(), middle), /*whole=*/false, trials);
  const bool second = adopt_part(what, Decisions(middle, group.end()), /*whole=*/false, trials);
  return first || second;
}

std::optional<Lowered> TuneState::try_lower(const Decisions& decisions, bool want_fusion) const {
  try {
    return run.measurer.lower(decisions, want_fusion);
  } catch (const Error& failed) {
    spdlog::warn("{} cannot be lowered: {}", to_text(decisions), failed.what());
    return std::nullopt;
  }
}

void TuneState::lower_best() {
  if (std::exchange(lowered_under_, best) != best) lowered = try_lower(best, false).value_or(lowered);
  tuned_lowering = lowered.fingerprint;
}

void TuneState::lowering_changed(DecisionKind kind) {
  if (kind == DecisionKind::Codegen || options.fusion_plan.only || left() <= 0) return;
  const std::optional<Lowered> now = try_lower(without_kernels(best), false);
  if (!now || now->fingerprint == tuned_lowering) return;
  tuned_lowering = now->fingerprint;
  tune_new_kernels(*now, kNewKernelBudgetShare * left());
}

void TuneState::tune_new_kernels(const Lowered& of, double budget_s) {
  std::vector<Kernel> fresh;
  for (const Kernel& kernel : of.kernels)
    if (options.decides(kernel.dimension.kind) && seen_kernels.insert(kernel.fingerprint).second)
      fresh.push_back(kernel);
  if (fresh.empty() || budget_s <= 0) return;
  ProgramResult& result = run.result;
  const double default_ns = run.default_run.measurement.baseline_ns;
  const auto on_kernel = [&](const KernelsProgress& progress) {
    result.kernels.push_back(*progress.report);  // at once, so that an interrupt loses only the kernel in flight
    KernelReport& kernel = result.kernels.back();
    if (kernel.default_ns > 0)  // measured: better than the estimate that ordered the search
      kernel.share = std::min(1.0, kernel.count * kernel.default_ns / default_ns);
    say(fmt::format("kernels {}/{}", progress.index, progress.total));
  };
  say(fmt::format("kernels 0/{}", fresh.size()));
  const size_t before = result.kernels.size();
  KernelOptions kernel_options = options.kernel;
  kernel_options.negligible_ns = kInvisibleShare * default_ns;
  tune_kernels(fresh, run.measurer, budget_s, kernel_options, rng, on_kernel);
  adopt_kernels(before);
}

// Adopts the winners among the reports from index `first` on, those that save the most time first.
void TuneState::adopt_kernels(size_t first) {
  std::vector<const KernelReport*> winners;
  for (size_t i = first; i < run.result.kernels.size(); ++i)
    if (run.result.kernels[i].improved()) winners.push_back(&run.result.kernels[i]);
  std::stable_sort(winners.begin(), winners.end(), [](const KernelReport* a, const KernelReport* b) {
    return a->share * (1 - 1 / a->gain) > b->share * (1 - 1 / b->gain);
  });
  Decisions group;
  for (const KernelReport* k : winners) group.push_back({k->decision, k->key, k->chosen});
  adopt_group(fmt::format("{} tuned kernels", group.size()), group);
}

bool TuneState::measured_as_kernel(const Dimension& dimension) const {
  return std::any_of(run.result.kernels.begin(), run.result.kernels.end(), [&](const KernelReport& k) {
    return k.decision == dimension.kind && k.key == dimension.key && k.complete;
  });
}

}  // namespace hone::tune
