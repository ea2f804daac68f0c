// What a tune knows of kernels and of operations that are measured by themselves.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "cost/operation_ranker.h"
#include "graph/operation_key.h"
#include "search/option_belief.h"
#include "tune/program/tune_state.h"
#include "tune/session/decision_list.h"

namespace hone::tune {

namespace {

constexpr double kInvisibleShare = 0.003;  // of the program's run time: a kernel below cannot be seen in a duel

// Operations have few forms, the most promising first, which only a model of their own knows.
void as_of_operation(cost::KernelRanker* ranker, KernelOptions& options) {
  constexpr double kCompileSeconds = 60;  // at most, of both sides
  constexpr int kPatience = 3;
  constexpr double kWorth = 0.02;  // compiling a form takes as long as measuring many options of a kernel
  options.ranker = ranker;
  options.by_expectation = true;
  options.worth = kWorth;
  options.top_k = 0;
  options.patience = ranker == nullptr ? kPatience : 0;
  options.on_searched = nullptr;
  options.quick.limit_s = options.careful.limit_s = kCompileSeconds;
  options.first = nullptr;
  if (ranker != nullptr) return;
  options.first = [](const Kernel& kernel) {
    std::vector<int> all(kernel.dimension.options.size());
    std::iota(all.begin(), all.end(), 0);
    return all;
  };
}

// What adopting the winner of a kernel or an operation decides.
Decisions decided_by(const KernelReport& report) {
  Decisions decisions = report.under;
  decisions.push_back({report.decision, report.key, report.chosen});
  return decisions;
}

bool has_all(const Decisions& decisions, const Decisions& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const Decision& d) {
    return std::find(decisions.begin(), decisions.end(), d) != decisions.end();
  });
}

}  // namespace

double TuneState::tune_one_kernel(const Kernel& kernel, double budget_s) {
  seen_kernels.insert(kernel.fingerprint);
  const double default_ns = run.default_run.measurement.baseline_ns / run.gain;
  KernelOptions kernel_options = options.kernel;
  kernel_options.negligible_ns = kInvisibleShare * default_ns;
  if (kernel.dimension.kind == DecisionKind::Rewrite) as_of_operation(ranker_of(kernel), kernel_options);
  KernelReport report = tune_kernel(kernel, run.measurer, budget_s, kernel_options, rng);
  // Where nothing can be verified by itself, the program's outputs may prove more.
  if (report.tried == 0 || !report.top.empty()) closed_in_place.insert(kernel.fingerprint);
  report.share = share_of(kernel);
  if (report.default_ns > 0 && kernel.instructions.empty())  // measured: better than an estimate
    report.share = std::min(1.0, report.count * report.default_ns / default_ns);
  const double gain = report.improved() ? std::log(report.gain) : 0;
  run.result.kernels.push_back(std::move(report));
  say(fmt::format("kernels {}", run.result.kernels.size()));
  return gain;
}

cost::OperationRanker* TuneState::ranker_of(const Kernel& operation) const {
  cost::OperationRanker* ranker = options.operation_ranker;
  return ranker != nullptr && cost::ranked_or_nothing(operation, *ranker) ? ranker : nullptr;
}

std::optional<double> TuneState::expected_gain(const Kernel& operation) const {
  cost::OperationRanker* ranker = options.operation_ranker;
  const std::optional<cost::RankedScores> ranked =
      ranker == nullptr ? std::nullopt : cost::ranked_or_nothing(operation, *ranker);
  if (!ranked) return std::nullopt;
  const Dimension& d = operation.dimension;
  const OptionBelief belief(unrelated_points(d.options.size()), ranked->scores, ranked->spreads, d.default_option,
                            options.kernel.form_belief);
  double known = 0;  // by other storage of its weights, or of the form that it has
  for (const Decision& decided : best)
    if (decided.kind == d.kind && decided.key == d.key)
      if (const auto gain = ranker->gain(operation, decided.value)) known = std::min(known, -gain->middle);
  for (const KernelReport& k : run.result.kernels)
    if (k.decision == d.kind && k.key == d.key && k.improved()) known = std::min(known, -std::log(k.gain));
  double most = 0;
  for (int i = 0; i < static_cast<int>(d.options.size()); ++i)
    most = std::max(most, belief.expected_improvement(i, known));
  return most;
}

std::vector<TuneState::PredictedForm> TuneState::predicted() const {
  constexpr double kLeastGain = 0.05;  // a logarithm
  std::vector<PredictedForm> all;
  const cost::OperationRanker* ranker = options.operation_ranker;
  if (ranker == nullptr) return all;
  std::map<std::string, PredictedForm> best_of;  // by key: weights may be stored in more than one way
  std::map<std::string, double> gains;
  std::vector<std::pair<Kernel, double>> open = operations_in_program();
  for (const Kernel& op : operations) open.emplace_back(op, share_of(op));
  for (const auto& [op, share] : open) {
    if (seen_kernels.contains(op.fingerprint) || share < kNegligibleShare) continue;
    for (const std::string& form : op.dimension.options) {
      const auto gain = form == op.default_value() ? std::nullopt : ranker->gain(op, form);
      if (!gain || gain->middle < std::max(kLeastGain, gains[op.dimension.key])) continue;
      gains[op.dimension.key] = gain->middle;
      best_of[op.dimension.key] = {op, form, share * (1 - std::exp(-gain->middle))};
    }
  }
  for (auto& [key, form] : best_of) {
    const bool decided = std::any_of(best.begin(), best.end(), [&](const Decision& d) {
      return d.kind == DecisionKind::Rewrite && d.key == form.operation.dimension.key;
    });
    if (!decided) all.push_back(std::move(form));
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.saved > b.saved; });
  return all;
}

std::vector<std::pair<Kernel, double>> TuneState::operations_in_program() const {
  std::map<FamilyId, double> arithmetic;
  std::vector<std::pair<Kernel, double>> found;
  for (const Dimension& d : dimensions)
    if (d.kind == DecisionKind::Rewrite && operation_sizes(d.key)) arithmetic[family_of(d)->id] += d.weight;
  for (const Dimension& d : dimensions)
    if (d.kind == DecisionKind::Rewrite && operation_sizes(d.key))
      found.emplace_back(operation_alone(d, {}), share_of(d) * d.weight / arithmetic[family_of(d)->id]);
  return found;
}

void TuneState::adopt_forms(const std::vector<PredictedForm>& forms, const std::string& what, double least_ratio,
                            const Group& others) {
  constexpr double kCompileSeconds = 60;  // at most, of both sides
  Duel once{.min_rounds = 1, .max_rounds = 1, .budget_ms = 0, .precision = 1};
  once.limit_s = kCompileSeconds;
  Group group = others;
  size_t count = others.decisions.size();
  for (const PredictedForm& p : forms) {
    if (left() <= 0) return;
    const Measurement m = run.measurer.measure_kernel(p.operation, p.form, once);
    if (!m.ok() || m.ratio < least_ratio) continue;
    for (const Decision& d : p.operation.under) group.decisions.push_back(d);
    group.decisions.push_back({p.operation.dimension.kind, p.operation.dimension.key, p.form});
    group.with_weights |= !p.operation.under.empty();
    group.share = std::min(1.0, group.share + p.saved);
    ++count;
  }
  if (count == 0) return;
  group.what = fmt::format("{} {} forms", count, what);
  adopt_group(group);
}

KernelReport* TuneState::report_of(const std::string& fingerprint) {
  const auto found = std::find_if(run.result.kernels.begin(), run.result.kernels.end(),
                                  [&](const KernelReport& k) { return k.fingerprint == fingerprint; });
  return found == run.result.kernels.end() ? nullptr : &*found;
}

int TuneState::tried_in_place(const Kernel& kernel) const {
  const auto found = walks_.find(kernel.fingerprint);
  return found == walks_.end() ? 0 : found->second.tried();
}

OptionWalk* TuneState::walk_in_place(const Kernel& kernel) {
  if (const auto found = walks_.find(kernel.fingerprint); found != walks_.end()) return &found->second;
  const KnownKernel known = run.measurer.known(kernel);
  if (known.best) {
    if (!seen_kernels.contains(kernel.fingerprint)) tune_one_kernel(kernel, /*budget_s=*/0);
    return nullptr;
  }
  seen_kernels.insert(kernel.fingerprint);
  return &walks_.try_emplace(kernel.fingerprint, kernel, options.kernel, known.measured).first->second;
}

void TuneState::report_in_place(const Kernel& kernel, bool complete) {
  const OptionWalk& walk = walks_.at(kernel.fingerprint);
  KernelReport report = tune::report_in_place(kernel, walk);
  report.share = share_of(kernel);
  report.complete = complete;
  if (complete && walk.tried() > 0 && options.kernel.on_searched)
    options.kernel.on_searched(kernel, report, walk.all_measured());
  KernelReport* earlier = report_of(kernel.fingerprint);
  if (earlier == nullptr) {
    run.result.kernels.push_back(std::move(report));
    return;
  }
  if (earlier->chosen == report.chosen) report.gain_in_place = earlier->gain_in_place;
  *earlier = std::move(report);
}

TuneState::Group TuneState::winners(bool of_operations) const {
  std::set<std::string> present;
  for (const Kernel& kernel : of_operations ? operations : lowered.kernels) present.insert(kernel.fingerprint);
  const auto waits = [&](const Decision& decision) {
    return std::any_of(parts.begin(), parts.end(), [&](const Group& part) {
      return std::find(part.decisions.begin(), part.decisions.end(), decision) != part.decisions.end();
    });
  };
  std::map<std::string, const KernelReport*> best_of;  // by key: an operation was measured with other weights, too
  for (const KernelReport& k : run.result.kernels) {
    if (!k.improved() || !present.contains(k.fingerprint) || refused_.contains(to_text(decided_by(k)))) continue;
    const KernelReport*& known = best_of[k.key];
    if (known == nullptr || known->gain < k.gain) known = &k;
  }
  std::vector<const KernelReport*> won;
  for (const auto& [key, k] : best_of)
    if (!has_all(best, decided_by(*k)) && !waits(decided_by(*k).back())) won.push_back(k);
  std::stable_sort(won.begin(), won.end(), [](const KernelReport* a, const KernelReport* b) {
    return a->share * (1 - 1 / a->gain) > b->share * (1 - 1 / b->gain);
  });
  Group group{.what = "", .decisions = {}, .share = 0, .whole = true, .kernels = !of_operations};
  for (const KernelReport* k : won) {
    for (const Decision& d : decided_by(*k)) group.decisions.push_back(d);
    group.with_weights |= !k->under.empty();
    group.share += k->share * (1 - 1 / k->gain);
  }
  group.share = std::min(group.share, 1.0);
  group.what = fmt::format("{} {}", won.size(), of_operations ? "rewritten operations" : "tuned kernels");
  return group;
}

bool TuneState::measured_as_kernel(const Dimension& dimension) const {
  return std::any_of(run.result.kernels.begin(), run.result.kernels.end(), [&](const KernelReport& k) {
    return k.decision == dimension.kind && k.key == dimension.key && k.complete;
  });
}

}  // namespace hone::tune
