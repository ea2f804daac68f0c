#include "tune/program_tuner.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "graph/library_keys.h"
#include "search/strategies.h"

namespace hone::tune {

namespace {

constexpr double kKernelBudgetShare = 0.45;    // of the search time, for the first round of kernels
constexpr double kNewKernelBudgetShare = 0.2;  // of what is left, for kernels that a kept step made new
constexpr double kBroadBudgetShare = 0.35;     // of the search time, for the first round of broad moves
constexpr double kNegligibleShare = 0.003;     // of the program's run time: a kernel below cannot be seen in a duel
constexpr int kGroupTrials = 12;               // candidates spent on one group and its parts
constexpr int kFallbacks = 3;                  // earlier bests the confirmation may fall back to
constexpr int kSecondLook = 4;                 // times the effort of a trial
constexpr double kAnnealShare = 0.9;           // of the time left
constexpr double kAnnealTemperature = 0.02;    // most single edges lose 10 %: accepting them would only wander off
constexpr char kAll[] = "all";                 // key of the decision about all weights

bool same_subject(const Decision& a, const Decision& b) { return a.kind == b.kind && a.key == b.key; }

Decision as_decision(const Dimension& dimension, int option) {
  return {dimension.kind, dimension.key, dimension.options[option]};
}

// `base` with one dimension set to one of its options.
Decisions with_option(const Decisions& base, const Dimension& dimension, int option) {
  const Decision decision = as_decision(dimension, option);
  Decisions result;
  bool overrides = false;  // a decision about all of the kind: then the default must be said
  for (const Decision& d : base) {
    overrides = overrides || (d.kind == dimension.kind && d.key == kAll && dimension.key != kAll);
    if (!same_subject(d, decision)) result.push_back(d);
  }
  if (option != dimension.default_option || overrides) result.push_back(decision);
  std::sort(result.begin(), result.end());
  return result;
}

int current_option(const Decisions& decisions, const Dimension& dimension) {
  int current = dimension.default_option;
  for (const Decision& d : decisions) {
    if (d.kind != dimension.kind || (d.key != dimension.key && d.key != kAll)) continue;
    const auto at = std::find(dimension.options.begin(), dimension.options.end(), d.value);
    if (at == dimension.options.end()) continue;
    current = static_cast<int>(at - dimension.options.begin());
    if (d.key == dimension.key) break;
  }
  return current;
}

// Decides much at once: an option of the program, or everything of a kind.
bool is_broad(const Dimension& dimension) {
  return dimension.kind == DecisionKind::Option || dimension.key == kAll || dimension.key == kProgramLibraryKey;
}

bool is_reduction_dimension(const Dimension& dimension) { return is_reduction(dimension.kind, dimension.key); }

// One of dozens: a weight, or the library of a dot, a convolution or a reduction.
bool is_single(const Dimension& dimension) {
  return (dimension.kind == DecisionKind::Weights || dimension.kind == DecisionKind::Library) && !is_broad(dimension);
}

// The decisions that say which kernels there are.
Decisions without_kernels(Decisions decisions) {
  std::erase_if(decisions, [](const Decision& d) { return d.kind == DecisionKind::Kernel; });
  return decisions;
}

// The cost a strategy sees: candidate over baseline run time, measured.
class MeasuredCost : public CostModel {
 public:
  MeasuredCost(const Space& space, const Decisions& base, std::function<Measurement(const Decisions&)> measure)
      : space_(space), base_(base), measure_(std::move(measure)) {}

  std::vector<double> costs(std::span<const Choice> choices) override {
    std::vector<double> costs;
    for (const Choice& choice : choices) {
      const Decisions decisions = merged(base_, space_.decisions(choice));
      if (decisions == base_) {
        costs.push_back(1);
        continue;
      }
      const Measurement m = measure_(decisions);
      costs.push_back(m.ok() && m.ratio > 0 ? 1 / m.ratio : kFailed);
    }
    return costs;
  }

 private:
  const Space& space_;
  const Decisions& base_;
  std::function<Measurement(const Decisions&)> measure_;
};

class Tuner {
 public:
  Tuner(Bench& bench, const TuneOptions& options)
      : bench_(bench),
        options_(options),
        rng_(options.seed),
        reserve_s_(std::clamp(0.12 * options.budget_s, 1.0, 20.0)) {}

  ProgramResult run() {
    try {
      measure_default();
      if (result_.note.empty()) search();
    } catch (const Stopped&) {
      result_.stopped = true;
    }
    result_.stopped = result_.stopped || bench_.seconds_left() <= 0;
    bench_.begin_confirmation();
    if (default_.rounds == 0) measure_default();  // stopped before it was known
    confirm_best();
    finish();
    return std::move(result_);
  }

 private:
  double left() const { return bench_.seconds_left() - reserve_s_; }

  // An A/A duel: can the program run at all, do its outputs prove anything, how long does it take.
  void measure_default() {
    say("default XLA");
    const Duel duel{.min_rounds = 3, .max_rounds = 5, .budget_ms = 500, .precision = 0.02, .limit_s = 600};
    const Measurement m = bench_.measure_program({}, {}, duel);
    if (m.outcome == Outcome::Unverified) {
      result_.note = "the outputs of default XLA prove nothing on these inputs" + (m.note.empty() ? "" : ": " + m.note);
    } else if (!m.ok()) {
      throw RunError(fmt::format("default XLA cannot run this program ({}): {}", outcome_name(m.outcome), m.note));
    }
    default_ = m;
    default_.rounds = std::max(1, m.rounds);
    const double budget_ms = std::clamp(60 * m.baseline_ns / 1e6, 300.0, 2000.0);
    const double compile_s = std::max(m.compile_ms, m.baseline_compile_ms) / 1e3;
    trial_ = {.min_rounds = 5,
              .max_rounds = 60,
              .budget_ms = budget_ms,
              .precision = 0.008,
              .abandon_ratio = 0.93,
              .limit_s = 10 + 6 * compile_s + 3 * budget_ms / 1e3 + 60 * m.baseline_ns / 1e9};
  }

  void search() {
    say("lowering");
    Lowered lowered = bench_.lower({}, false);
    lowering_ = lowered.fingerprint;
    if (options_.kernels_only) return tune_new_kernels(lowered, left());
    const std::vector<Dimension> dimensions = by_promise(lowered.dimensions);
    if (options_.strategy.empty()) {
      // Broad moves first: one duel each, the largest gains, and they decide which kernels there are to tune. Libraries
      // come later: dots are kernels, and one library for all of them hides that each has its own best.
      const double for_the_rest = (1 - kBroadBudgetShare) * left();
      group_moves(dimensions, is_reduction_dimension, for_the_rest);
      broad_moves(dimensions, for_the_rest, /*libraries=*/false);
      if (!best_.empty()) lowered = try_lower(best_, false).value_or(lowered);
      lowering_ = lowered.fingerprint;
    }
    tune_new_kernels(lowered, kKernelBudgetShare * left());
    if (options_.strategy.empty()) {
      broad_moves(dimensions, 0, /*libraries=*/true);  // again where the best has changed
      group_moves(dimensions, is_single, 0);
      descend(dimensions);
    } else {
      search_dimensions(options_.strategy, make_strategy(options_.strategy), dimensions, left());
    }
    if (options_.fusion) anneal_fusion();
  }

  void say(const std::string& what) const { options_.on_progress(what, gain_); }

  // ---- kernels

  void tune_new_kernels(const Lowered& lowered, double budget_s) {
    std::vector<Kernel> fresh;
    for (const Kernel& kernel : lowered.kernels)
      if (seen_kernels_.insert(kernel.fingerprint).second) fresh.push_back(kernel);
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
    tune_kernels(fresh, bench_, budget_s, options, rng_, on_kernel);
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
    Step step{what, bench_.measure_program(candidate, best_, trial_), false};
    Measurement& m = step.measurement;
    if (m.ok() && m.ratio > options_.min_gain && m.ratio_low <= 1 && left() > 0) {  // promising, not sure: look again
      Duel longer = trial_;
      longer.budget_ms *= kSecondLook;
      longer.max_rounds *= kSecondLook;
      longer.limit_s += kSecondLook * trial_.budget_ms / 1e3;
      m = bench_.measure_program(candidate, best_, longer);
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

  // One pass of coordinate descent: every option of every dimension against the best so far.
  void descend(const std::vector<Dimension>& dimensions) {
    for (const Dimension& d : dimensions) {
      if (measured_as_kernel(d)) continue;
      bool kept = false;
      for (int i = 0; i < static_cast<int>(d.options.size()) && left() > 0; ++i)
        if (i != current_option(best_, d))
          kept = try_step(in_words(as_decision(d, i)), with_option(best_, d, i)) || kept;
      if (kept) lowering_changed(d.kind);
    }
  }

  // After a kept step other kernels may exist: tune those that are new.
  void lowering_changed(DecisionKind kind) {
    if (kind == DecisionKind::Kernel || left() <= 0) return;
    const std::optional<Lowered> lowered = try_lower(without_kernels(best_), false);
    if (!lowered || lowered->fingerprint == lowering_) return;
    lowering_ = lowered->fingerprint;
    tune_new_kernels(*lowered, kNewKernelBudgetShare * left());
  }

  // XLA may fail on what the search wants to know next: that costs this part of the search, not its result.
  std::optional<Lowered> try_lower(const Decisions& decisions, bool want_fusion) {
    try {
      return bench_.lower(decisions, want_fusion);
    } catch (const Error& failed) {
      spdlog::warn("{} cannot be lowered: {}", to_text(decisions), failed.what());
      return std::nullopt;
    }
  }

  // ---- strategies of the search library

  void search_dimensions(const std::string& name, std::unique_ptr<Strategy> strategy,
                         const std::vector<Dimension>& dimensions, double budget_s) {
    Space space;
    for (const Dimension& d : dimensions)
      if (d.options.size() > 1) space.dimensions.push_back(d);
    if (space.dimensions.empty() || budget_s <= 0) return;
    const double stop_at = std::max(0.0, left() - budget_s);
    const Decisions base = best_;
    MeasuredCost cost(space, base, [&](const Decisions& decisions) {
      Step step{fmt::format("{} {}", name, to_text(decisions)), bench_.measure_program(decisions, base, trial_), false};
      result_.steps.push_back(step);
      return step.measurement;
    });
    SearchOptions search;
    search.seed = rng_();
    const double seconds_each = trial_.budget_ms / 1e3 + default_.compile_ms / 1e3 + 0.05;
    search.max_evaluations = static_cast<int>(std::clamp(budget_s / seconds_each, 8.0, 1e5));
    search.should_stop = [&] { return left() <= stop_at; };
    int evaluated = 0;
    search.on_evaluated = [&](const Choice&, double) { say(fmt::format("{} {}", name, ++evaluated)); };
    const SearchReport report = strategy->search(space, space.default_choice(), cost, search);
    if (report.best_cost < 1 && try_step(name + "'s best", merged(best_, space.decisions(report.best))))
      lowering_changed(DecisionKind::Option);
  }

  void anneal_fusion() {
    if (left() <= 0) return;
    const std::optional<Lowered> lowered = try_lower(without_kernels(best_), true);
    if (!lowered) return;
    std::vector<Dimension> edges;
    for (const Dimension& d : lowered->dimensions)
      if (d.kind == DecisionKind::Fusion) edges.push_back(d);
    search_dimensions("anneal", make_anneal({.start_temperature = kAnnealTemperature}), edges, kAnnealShare * left());
  }

  // ---- the end

  Duel confirmation_effort() const {
    Duel duel = options_.confirm;
    duel.budget_ms = std::min(duel.budget_ms, std::max(500.0, 1e3 * reserve_s_ / (2 * options_.processes)));
    return duel;
  }

  // Fewer than asked for where compiling and running the program twice takes longer than the time kept for it.
  int processes() const {
    constexpr double kRuns = 4;
    const double compile_ms = std::max(default_.compile_ms, default_.baseline_compile_ms);
    const double each_s = 2 * (compile_ms / 1e3 + kRuns * default_.baseline_ns / 1e9);
    return static_cast<int>(std::clamp(reserve_s_ / each_s, 1.0, static_cast<double>(options_.processes)));
  }

  // The best so far against default XLA; when it does not hold, earlier bests, then default XLA itself.
  void confirm_best() {
    for (int fallback = 0; fallback <= kFallbacks && !history_.empty(); ++fallback) {
      say("confirmation");
      const Decisions candidate = history_.back();
      const Confirmation confirmation = confirm(bench_, candidate, confirmation_effort(), processes());
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
    const Lowered plain = bench_.lower(without_kernels(result_.decisions), false);
    std::set<std::string> keys;
    for (const Kernel& kernel : plain.kernels) keys.insert(kernel.dimension.key);
    std::erase_if(result_.decisions,
                  [&](const Decision& d) { return d.kind == DecisionKind::Kernel && !keys.contains(d.key); });
    if (result_.decisions.empty()) result_.measurement = of_default();
    result_.lowered = bench_.lower(result_.decisions, false);
    mark_kept(result_);
  }

  Bench& bench_;
  const TuneOptions& options_;
  Rng rng_;
  double reserve_s_;  // kept for the confirmation
  Measurement default_;
  Duel trial_;
  Decisions best_;
  double gain_ = 1;  // of best_ over default XLA, as the steps add up
  std::vector<Decisions> history_;
  std::set<std::string> tried_, seen_kernels_;
  std::string lowering_;  // fingerprint
  ProgramResult result_;
};

int promise(const Dimension& dimension) {
  switch (dimension.kind) {
    case DecisionKind::Weights:
      return 0;
    case DecisionKind::Library:
      return 1;
    case DecisionKind::Option:
      if (dimension.key.find("multi_output") != std::string::npos) return 2;
      return dimension.key.find("vector_width") != std::string::npos ? 3 : 4;
    default:
      return 5;
  }
}

}  // namespace

void TuneOptions::validate() const {
  if (processes < 1) throw Error("the confirmation needs at least one process");
  if (!(budget_s > 0)) throw Error("the budget must be longer than nothing", "--budget", "for example 60s");
  if (min_gain < 1) throw Error("the least gain of a step must be at least 1");
  if (!strategy.empty()) make_strategy(strategy);
  kernel.validate();
}

ProgramResult tune_program(Bench& bench, const TuneOptions& options) {
  options.validate();
  return Tuner(bench, options).run();
}

Decisions merged(const Decisions& base, const Decisions& more) {
  Decisions result = more;
  for (const Decision& d : base)
    if (std::none_of(more.begin(), more.end(), [&](const Decision& other) { return same_subject(d, other); }))
      result.push_back(d);
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<Dimension> by_promise(std::vector<Dimension> dimensions) {
  std::erase_if(dimensions, [](const Dimension& d) { return d.options.size() < 2 || d.kind == DecisionKind::Fusion; });
  std::stable_sort(dimensions.begin(), dimensions.end(), [](const Dimension& a, const Dimension& b) {
    return std::pair(promise(a), -a.weight) < std::pair(promise(b), -b.weight);
  });
  return dimensions;
}

std::string in_words(const Decision& decision) {
  const bool fingerprint = decision.kind == DecisionKind::Kernel ||
                           (decision.kind == DecisionKind::Library && !is_reduction(decision.kind, decision.key));
  return fmt::format("{} {} {}", decision_kind_name(decision.kind),
                     fingerprint ? decision.key.substr(0, 12) : decision.key, decision.value);
}

}  // namespace hone::tune
