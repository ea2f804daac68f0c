#include "tune/program/program_tuner.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "search/random_fusion.h"
#include "search/strategies.h"
#include "tune/program/decision_list.h"
#include "tune/program/fusion_walk.h"

namespace hone::tune {

namespace {

constexpr double kKernelBudgetShare = 0.45;    // of the search time, for the first round of kernels
constexpr double kNewKernelBudgetShare = 0.2;  // of what is left, for kernels that a kept step made new
constexpr double kBroadBudgetShare = 0.25;     // of the search time, for the first round of broad moves
constexpr double kFusionBudgetShare = 0.35;  // of the search time, kept for fusion: the largest gains of some programs
constexpr double kOuterBudgetShare = 0.15;   // of the search time, at most, for passes and layouts
constexpr double kContenderBudgetShare = 0.5;  // of what is left, for those that came near the best
constexpr double kContender = 0.97;            // of the best's speed
constexpr double kNegligibleShare = 0.003;     // of the program's run time: a kernel below cannot be seen in a duel
constexpr int kGroupTrials = 12;               // candidates spent on one group and its parts
constexpr int kFallbacks = 3;                  // earlier bests the confirmation may fall back to
constexpr int kSecondLook = 4;                 // times the effort of a trial
constexpr double kAnnealShare = 0.9;           // of the time left
constexpr double kAnnealTemperature = 0.02;    // most single edges lose 10 %: accepting them would only wander off
constexpr int kWalked = 3;                     // of a walk's best that are looked at again
constexpr double kModelShare = 0.3;            // of the time left, for fusion by the model alone
constexpr double kModelMost = 0.9;             // the same where a longer time is asked for

class Tuner {
 public:
  Tuner(Measurer& measurer, const TuneOptions& options)
      : measurer_(measurer),
        options_(options),
        rng_(options.seed),
        reserve_s_(std::clamp(0.12 * options.budget_s, 1.0, 20.0)) {}

  ProgramResult run() {
    try {
      say("default XLA");
      know_default(measure_default(measurer_));
      if (result_.note.empty()) search();
    } catch (const Stopped&) {
      result_.stopped = true;
    }
    result_.stopped = result_.stopped || measurer_.seconds_left() <= 0;
    measurer_.begin_confirmation();
    if (default_.rounds == 0) know_default(measure_default_after_stop(measurer_));
    confirm_best();
    finish();
    return std::move(result_);
  }

 private:
  double left() const { return measurer_.seconds_left() - reserve_s_; }

  void know_default(const DefaultRun& run) {
    default_ = run.measurement;
    trial_ = run.trial;
    result_.note = run.note;
  }

  void search() {
    say("lowering");
    Lowered lowered = measurer_.lower({}, false);
    lowering_ = lowered.fingerprint;
    if (options_.kernels_only) return tune_new_kernels(lowered, left());
    if (options_.fusion_plan.only) return tune_fusion();
    const auto dimensions_of = [&](const Lowered& of) {
      std::vector<Dimension> decided = by_promise(of.dimensions);
      std::erase_if(decided, [&](const Dimension& d) { return !options_.decides(d.kind); });
      return decided;
    };
    if (options_.strategy.empty()) {
      // Before all else: a gain of ten times makes every later duel shorter.
      const std::vector<Dimension> windows = dimensions_of(lowered);
      const double for_the_rest = (1 - kBroadBudgetShare) * left();
      for (const auto belongs : {is_convolution_dimension, is_weights_gradient_dimension, is_pooling_dimension})
        group_moves(windows, belongs, for_the_rest);
      lower_best(lowered);
    }
    outer_search();
    lower_best(lowered);
    const std::vector<Dimension> dimensions = dimensions_of(lowered);
    const bool fusion = options_.fusion && options_.decides(DecisionKind::Fusion);
    const double for_fusion = fusion ? kFusionBudgetShare * left() : 0;
    if (options_.strategy.empty()) {
      // Broad moves first: one duel each, the largest gains, and they decide which kernels there are to tune. Libraries
      // come later: dots are kernels, and one library for all of them hides that each has its own best.
      const double for_the_rest = (1 - kBroadBudgetShare) * left();
      group_moves(dimensions, is_reduction_dimension, for_the_rest);
      broad_moves(dimensions, for_the_rest, /*libraries=*/false);
      lower_best(lowered);
    }
    tune_new_kernels(lowered, kKernelBudgetShare * (left() - for_fusion));
    if (options_.strategy.empty()) {
      broad_moves(dimensions, for_fusion, /*libraries=*/true);  // again where the best has changed
      group_moves(dimensions, is_single, for_fusion);
      descend(dimensions, for_fusion);
    } else {
      search_dimensions(options_.strategy, make_strategy(options_.strategy), dimensions, best_, left() - for_fusion);
    }
    if (fusion) tune_fusion();
    retry_contenders();
    if (options_.strategy.empty()) descend(dimensions, 0);  // what there was no time for
  }

  // `lowered` under the best so far, made anew only where that has changed.
  void lower_best(Lowered& lowered) {
    if (std::exchange(lowered_under_, best_) != best_) lowered = try_lower(best_, false).value_or(lowered);
    lowering_ = lowered.fingerprint;
  }

  void say(const std::string& what) const { options_.on_progress(what, gain_); }

  // ---- passes and layouts

  // Each order of passes against the best so far, then each layout on the best order. What comes near the best without
  // beating it is kept for later: another order may be the better one once its kernels are tuned.
  void outer_search() {
    const double until_s = (1 - kOuterBudgetShare) * left();
    lowered_once_.insert(lowering_);
    if (options_.outer.passes && options_.decides(DecisionKind::Pass)) {
      say("ordering passes");
      for (const Alternative& alternative : options_.outer.passes()) try_alternative(alternative, until_s);
    }
    if (options_.outer.layouts && options_.decides(DecisionKind::Layout)) {
      say("proposing layouts");
      for (const Alternative& alternative : options_.outer.layouts(best_)) try_alternative(alternative, until_s);
    }
    std::stable_sort(contenders_.begin(), contenders_.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    if (contenders_.size() > static_cast<size_t>(options_.outer.contenders))
      contenders_.resize(options_.outer.contenders);
  }

  void try_alternative(const Alternative& alternative, double until_s) {
    if (left() <= until_s) return;
    const Decisions candidate = merged(best_, alternative.decisions);
    const std::optional<Lowered> lowered = try_lower(candidate, false);
    if (!lowered || !lowered_once_.insert(lowered->fingerprint).second) return;  // XLA makes the same program of it
    const size_t before = result_.steps.size();
    if (try_step(alternative.what, candidate) || result_.steps.size() == before) return;
    const Measurement& m = result_.steps.back().measurement;
    if (m.ok() && m.ratio > kContender) contenders_.emplace_back(alternative, m.ratio);
  }

  void retry_contenders() {
    const double until_s = (1 - kContenderBudgetShare) * left();
    for (const auto& [alternative, ratio] : contenders_)
      if (left() > until_s && try_step(alternative.what + ", again", merged(best_, alternative.decisions)))
        lowering_changed(DecisionKind::Pass);
  }

  // ---- kernels

  void tune_new_kernels(const Lowered& lowered, double budget_s) {
    std::vector<Kernel> fresh;
    for (const Kernel& kernel : lowered.kernels)
      if (options_.decides(kernel.dimension.kind) && seen_kernels_.insert(kernel.fingerprint).second)
        fresh.push_back(kernel);
    if (fresh.empty() || budget_s <= 0) return;
    const auto on_kernel = [&](const KernelsProgress& progress) {
      result_.kernels.push_back(*progress.report);  // at once, so that an interrupt loses only the kernel in flight
      KernelReport& kernel = result_.kernels.back();
      if (kernel.default_ns > 0)  // measured: better than the estimate that ordered the search
        kernel.share = std::min(1.0, kernel.count * kernel.default_ns / default_.baseline_ns);
      say(fmt::format("kernels {}/{}", progress.index, progress.total));
    };
    say(fmt::format("kernels 0/{}", fresh.size()));
    const size_t before = result_.kernels.size();
    KernelOptions options = options_.kernel;
    options.negligible_ns = kNegligibleShare * default_.baseline_ns;
    tune_kernels(fresh, measurer_, budget_s, options, rng_, on_kernel);
    adopt_kernels(before);
  }

  // The winners among result_.kernels from index `first` on, most saved time first.
  void adopt_kernels(size_t first) {
    std::vector<const KernelReport*> winners;
    for (size_t i = first; i < result_.kernels.size(); ++i)
      if (result_.kernels[i].improved()) winners.push_back(&result_.kernels[i]);
    std::stable_sort(winners.begin(), winners.end(), [](const KernelReport* a, const KernelReport* b) {
      return a->share * (1 - 1 / a->gain) > b->share * (1 - 1 / b->gain);
    });
    Decisions group;
    for (const KernelReport* k : winners) group.push_back({k->decision, k->key, k->chosen});
    adopt_group(fmt::format("{} tuned kernels", group.size()), group);
  }

  // ---- program steps

  // Measures best + more against best and keeps it if it is faster.
  bool try_step(const std::string& what, const Decisions& candidate) {
    if (left() <= 0 || candidate == best_ || !tried_.insert(to_text(best_) + " | " + to_text(candidate)).second)
      return false;
    say(what);
    Step step{what, measurer_.measure_program(candidate, best_, trial_), false};
    Measurement& m = step.measurement;
    if (m.ok() && m.ratio > options_.min_gain && m.ratio_low <= 1 && left() > 0) {  // promising, not sure: look again
      Duel longer = trial_;
      longer.budget_ms *= kSecondLook;
      longer.max_rounds *= kSecondLook;
      longer.limit_s += kSecondLook * trial_.budget_ms / 1e3;
      m = measurer_.measure_program(candidate, best_, longer);
    }
    step.kept = m.ok() && m.ratio_low > 1 && m.ratio > options_.min_gain;
    result_.steps.push_back(step);
    if (!step.kept) return false;
    history_.push_back(candidate);
    best_ = candidate;
    gain_ *= m.ratio;
    say(what);
    return true;
  }

  // Tries the whole group (best expected first), else its halves, and so on down to single decisions.
  bool adopt_group(const std::string& what, const Decisions& group) {
    int trials = kGroupTrials;
    return adopt_part(what, group, trials);
  }

  bool adopt_part(const std::string& what, const Decisions& group, int& trials) {
    if (group.empty() || trials-- <= 0 || left() <= 0) return false;
    if (try_step(group.size() == 1 ? in_words(group[0]) : what, merged(best_, group))) return true;
    if (group.size() == 1) return false;
    const auto middle = group.begin() + (group.size() + 1) / 2;
    const std::string part = what.rfind("part of ", 0) == 0 ? what : "part of " + what;
    const bool first = adopt_part(part, Decisions(group.begin(), middle), trials);
    const bool second = adopt_part(part, Decisions(middle, group.end()), trials);
    return first || second;
  }

  // Every option of the broad dimensions, one duel each, until only `until_s` seconds are left.
  void broad_moves(const std::vector<Dimension>& dimensions, double until_s, bool libraries) {
    for (const Dimension& d : dimensions) {
      if (!is_broad(d) || (d.kind == DecisionKind::Library && !libraries)) continue;
      for (int i = 0; i < static_cast<int>(d.options.size()) && left() > until_s; ++i)
        if (i != current_option(best_, d) && try_step(in_words(as_decision(d, i)), with_option(best_, d, i)) &&
            !seen_kernels_.empty())
          lowering_changed(d.kind);
    }
  }

  // Single dimensions of one kind that offer the same option, moved at once: weights and libraries come in dozens, and
  // one duel tells more than dozens below the noise.
  void group_moves(const std::vector<Dimension>& dimensions, bool (*belongs)(const Dimension&), double until_s) {
    std::set<std::pair<DecisionKind, std::string>> moves;
    for (const Dimension& d : dimensions)
      if (belongs(d))
        for (const std::string& option : d.options) moves.emplace(d.kind, option);
    for (const auto& [kind, value] : moves) {
      Decisions group;
      for (const Dimension& d : dimensions)
        if (d.kind == kind && belongs(d) && d.options[current_option(best_, d)] != value && !measured_as_kernel(d) &&
            std::find(d.options.begin(), d.options.end(), value) != d.options.end())
          group.push_back({kind, d.key, value});
      if (group.empty() || left() <= until_s) continue;
      if (adopt_group(fmt::format("{} {} for all {}", decision_kind_name(kind), value, group.size()), group) &&
          !seen_kernels_.empty())
        lowering_changed(kind);
    }
  }

  // Dots and convolutions were tuned by themselves.
  bool measured_as_kernel(const Dimension& dimension) const {
    return std::any_of(result_.kernels.begin(), result_.kernels.end(), [&](const KernelReport& k) {
      return k.decision == dimension.kind && k.key == dimension.key && k.complete;
    });
  }

  // One pass of coordinate descent: every option of every dimension against the best so far, until only `until_s` seconds
  // are left.
  void descend(const std::vector<Dimension>& dimensions, double until_s) {
    for (const Dimension& d : dimensions) {
      if (measured_as_kernel(d)) continue;
      bool kept = false;
      for (int i = 0; i < static_cast<int>(d.options.size()) && left() > until_s; ++i)
        if (i != current_option(best_, d))
          kept = try_step(in_words(as_decision(d, i)), with_option(best_, d, i)) || kept;
      if (kept) lowering_changed(d.kind);
    }
  }

  // After a kept step other kernels may exist: tune those that are new.
  void lowering_changed(DecisionKind kind) {
    if (kind == DecisionKind::Kernel || options_.fusion_plan.only || left() <= 0) return;
    const std::optional<Lowered> lowered = try_lower(without_kernels(best_), false);
    if (!lowered || lowered->fingerprint == lowering_) return;
    lowering_ = lowered->fingerprint;
    tune_new_kernels(*lowered, kNewKernelBudgetShare * left());
  }

  // XLA may fail on what the search wants to know next: that costs this part of the search, not its result.
  std::optional<Lowered> try_lower(const Decisions& decisions, bool want_fusion) {
    try {
      return measurer_.lower(decisions, want_fusion);
    } catch (const Error& failed) {
      spdlog::warn("{} cannot be lowered: {}", to_text(decisions), failed.what());
      return std::nullopt;
    }
  }

  // ---- strategies of the search library

  // `start` says where the strategy begins; decisions about anything else are as in the best so far.
  void search_dimensions(const std::string& name, std::unique_ptr<Strategy> strategy,
                         const std::vector<Dimension>& dimensions, const Decisions& start, double budget_s) {
    Space space;
    for (const Dimension& d : dimensions)
      if (d.options.size() > 1) space.dimensions.push_back(d);
    if (space.dimensions.empty() || budget_s <= 0) return;
    const double stop_at = std::max(0.0, left() - budget_s);
    const Decisions baseline = best_, base = outside(best_, space);
    MeasuredCost cost(space, base, baseline, [&](const Decisions& decisions) {
      Step step{fmt::format("{} {}", name, to_text(decisions)), measurer_.measure_program(decisions, baseline, trial_),
                false};
      result_.steps.push_back(step);
      return step.measurement;
    });
    Choice first;
    for (const Dimension& d : space.dimensions) first.push_back(current_option(start, d));
    SearchOptions search;
    search.seed = rng_();
    const double seconds_each = trial_.budget_ms / 1e3 + default_.compile_ms / 1e3 + 0.05;
    search.max_evaluations = static_cast<int>(std::clamp(budget_s / seconds_each, 8.0, 1e5));
    search.should_stop = [&] { return left() <= stop_at; };
    int evaluated = 0;
    search.on_evaluated = [&](const Choice&, double) { say(fmt::format("{} {}", name, ++evaluated)); };
    const SearchReport report = strategy->search(space, first, cost, search);
    if (report.best_cost < 1 && try_step(name + "'s best", merged(base, space.decisions(report.best))))
      lowering_changed(DecisionKind::Option);
  }

  // ---- fusion

  void tune_fusion() {
    if (left() <= 0) return;
    const FusionPlan& plan = options_.fusion_plan;
    const std::optional<Lowered> lowered = try_lower(without_kernels(best_), true);
    if (!lowered) return;
    std::vector<Dimension> edges;
    for (const Dimension& d : lowered->dimensions)
      if (d.kind == DecisionKind::Fusion) edges.push_back(d);
    Decisions start = of_kind(best_, DecisionKind::Fusion);
    if (plan.random_start) start = random_fusion(edges, "start", 0, options_.seed);
    if (plan.model && !edges.empty()) {
      start = fuse_by_model(edges, start);
      if (left() <= 0) return;
      if (!plan.lanes.empty() && start == of_kind(best_, DecisionKind::Fusion)) return walk_by_model(edges);
    }
    search_dimensions("anneal", make_anneal({.start_temperature = kAnnealTemperature}), edges, start,
                      kAnnealShare * left());
  }

  // The model searches, then the best of what it found is measured. Returns where measuring should go on.
  Decisions fuse_by_model(const std::vector<Dimension>& edges, const Decisions& start) {
    const FusionPlan& plan = options_.fusion_plan;
    const Space space{edges};
    FusionSearchOptions search;
    search.budget_s = plan.budget_s > 0 ? std::min(plan.budget_s, kModelMost * left()) : kModelShare * left();
    if (!(search.budget_s > 0)) return start;  // lowering took what was left
    search.chains = plan.chains;
    search.start = start;
    if (!plan.random_start)
      for (int i = 1; i < plan.chains; i += 2)
        search.elsewhere.push_back(random_fusion(edges, "elsewhere", i, options_.seed));
    search.seed = rng_();
    search.on_scored = [&](int64_t configurations, double gain) {
      say(fmt::format("{} fusion configurations, {:.3f}x predicted", configurations, gain));
    };
    result_.fusion = search_fusion(plan.lanes, outside(without_kernels(best_), space), edges, *plan.model, search);
    const FusionSearchReport& found = *result_.fusion;
    spdlog::info("fusion: {} configurations in {:.1f} s ({:.0f} a minute), {} distinct programs, {} kernels predicted",
                 found.configurations, found.seconds, found.per_minute(), found.programs, found.kernels);
    bool kept = false;
    for (const FusionCandidate& candidate : found.finalists())
      kept = try_step(fmt::format("fusion predicted {:.3f}x", found.own_ns / candidate.predicted_ns),
                      merged(outside(best_, space), candidate.decisions)) ||
             kept;
    if (kept) lowering_changed(DecisionKind::Fusion);
    return kept ? of_kind(best_, DecisionKind::Fusion) : start;
  }

  // Annealing by measurement goes on from the best, the model proposing; then the best of it, one after the other.
  void walk_by_model(const std::vector<Dimension>& edges) {
    const Space space{edges};
    const Decisions baseline = best_, base = outside(best_, space), start = of_kind(best_, DecisionKind::Fusion);
    const double begin_s = left();
    FusionWalkOptions walk;
    walk.temperature = kAnnealTemperature;
    walk.seed = rng_();
    walk.progress = [&] { return left() <= 0 ? 1.0 : (begin_s - left()) / (kAnnealShare * begin_s); };
    int measured = 0;
    walk.measure = [&](const Decisions& fusion) {
      say(fmt::format("fusion, proposed {}", ++measured));
      Step step{fmt::format("fusion proposed {}", to_text(fusion)),
                measurer_.measure_program(merged(base, fusion), baseline, trial_), false};
      result_.steps.push_back(step);
      return step.measurement;
    };
    const std::vector<WalkedFusion> found = walk_fusion(options_.fusion_plan.lanes[0], *options_.fusion_plan.model,
                                                        without_kernels(base), edges, start, kWalked, walk);
    for (const WalkedFusion& one : found)
      if (try_step(fmt::format("fusion measured {:.3f}x", one.ratio), merged(base, one.decisions)))
        return lowering_changed(DecisionKind::Fusion);
  }

  // ---- the end

  Duel confirmation_effort() const {
    Duel duel = options_.confirm;
    duel.budget_ms = std::min(duel.budget_ms, std::max(500.0, 1e3 * reserve_s_ / (2 * options_.processes)));
    return duel;
  }

  // The best so far against default XLA; when it does not hold, earlier bests, then default XLA itself.
  void confirm_best() {
    for (int fallback = 0; fallback <= kFallbacks && !history_.empty(); ++fallback) {
      say("confirmation");
      const Decisions candidate = history_.back();
      const Confirmation confirmation = confirm(measurer_, candidate, confirmation_effort(),
                                                affordable_processes(default_, reserve_s_, options_.processes));
      for (const Measurement& duel : confirmation.duels)
        result_.steps.push_back({"confirmation", duel, confirmation.holds});
      if (confirmation.holds) {
        result_.decisions = candidate;
        result_.measurement = confirmation.combined;
        gain_ = confirmation.combined.ratio;
        return;
      }
      history_.pop_back();
    }
    result_.decisions.clear();
    result_.measurement = of_default();
  }

  // Default XLA against itself.
  Measurement of_default() const {
    Measurement m = default_;
    m.candidate_ns = m.baseline_ns;
    m.ratio = m.ratio_low = m.ratio_high = 1;
    return m;
  }

  // Drops decisions about kernels that other decisions made disappear, and marks the kernels in use.
  void finish() {
    const Lowered plain = measurer_.lower(without_kernels(result_.decisions), false);
    std::set<std::string> keys;
    for (const Kernel& kernel : plain.kernels) keys.insert(kernel.dimension.key);
    std::erase_if(result_.decisions,
                  [&](const Decision& d) { return d.kind == DecisionKind::Kernel && !keys.contains(d.key); });
    if (result_.decisions.empty()) result_.measurement = of_default();
    result_.lowered = measurer_.lower(result_.decisions, false);
    mark_kept(result_);
  }

  Measurer& measurer_;
  const TuneOptions& options_;
  Rng rng_;
  double reserve_s_;  // kept for the confirmation
  Measurement default_;
  Duel trial_;
  Decisions best_, lowered_under_;
  double gain_ = 1;  // of best_ over default XLA, as the steps add up
  std::vector<Decisions> history_;
  std::set<std::string> tried_, seen_kernels_;
  std::set<std::string> lowered_once_;  // fingerprints of programs measured for their passes or layouts
  std::vector<std::pair<Alternative, double>> contenders_;  // with their ratio to the best when they were measured
  std::string lowering_;                                    // fingerprint
  ProgramResult result_;
};

}  // namespace

void TuneOptions::validate() const {
  if (processes < 1) throw Error("the confirmation needs at least one process");
  if (!(budget_s > 0)) throw Error("the budget must be longer than nothing", "--budget", "for example 60s");
  if (min_gain < 1) throw Error("the least gain of a step must be at least 1");
  if (!strategy.empty()) make_strategy(strategy);
  kernel.validate();
}

ProgramResult tune_program(Measurer& measurer, const TuneOptions& options) {
  options.validate();
  return Tuner(measurer, options).run();
}

}  // namespace hone::tune
