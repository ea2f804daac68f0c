#include "optimize/optimize.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "collect/collect.h"
#include "graph/decision_family.h"
#include "graph/kernel_option.h"
#include "optimize/guard.h"
#include "optimize/operations.h"
#include "optimize/thread_options.h"
#include "tune/kernel/kernel_moves.h"
#include "tune/program/confirm.h"
#include "tune/session/decision_list.h"

namespace hone::optimize {

namespace {

constexpr int kMostThreadDuels = 4;

bool is_tiled(const Kernel& kernel, const std::string& option) {
  return option == kernel.default_value() ? !kernel.default_tile.empty() : !KernelOption::parse(option).tile.empty();
}

void choose(const std::map<std::string, tune::PredictedMargin>& margins, const std::vector<std::string>& options,
            const tune::Calibration& gains, OptimizedKernel& into) {
  const std::optional<std::string> transition = gains.choice(margins);
  if (!transition) return;
  const tune::PredictedMargin& best = margins.at(*transition);
  take(*transition, gains.of(*transition), options[best.option], best.margin, into);
}

void rank(const Kernel& kernel, cost::KernelRanker& ranker, const tune::Calibration& gains, int max_options,
          OptimizedKernel& into) {
  const std::vector<std::string> options = options_to_rank(kernel, max_options);
  std::vector<double> scores;
  try {
    scores = ranker.scores(kernel, options);
  } catch (const Error& e) {
    into.note = fmt::format("not ranked: {}", e.what());
    return;
  }
  std::vector<bool> tiled;
  for (const std::string& option : options) tiled.push_back(is_tiled(kernel, option));
  const auto own = static_cast<int>(std::find(options.begin(), options.end(), into.default_value) - options.begin());
  choose(tune::predicted_margins(kernel.kind, scores, tiled, own, ranker.predicts_runtime()), options, gains, into);
  std::vector<size_t> order(options.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  for (size_t i : order) into.order.push_back(options[i]);
}

bool is_dot(const OptimizedKernel& operation) {
  return belongs_to(FamilyId::FloatDot, operation.decision, operation.key) ||
         belongs_to(FamilyId::HalfDot, operation.decision, operation.key);
}

void give_up(OptimizedKernel& choice, const std::string& why) {
  choice.applied = false;
  choice.note = why;
  choice.chosen = choice.default_value;
}

// A program's choices, and its kernels under those that are not about kernels.
struct Way {
  OptimizeReport report;
  const std::vector<Kernel>* kernels;
};

// Chooses and checks the decisions of one program.
class Optimizer {
 public:
  Optimizer(tune::Measurer& measurer, const OptimizeOptions& options)
      : measurer_(measurer), options_(options), guard_(measurer, options.guard_s, options.verify_limit_s) {}

  OptimizeReport run(cost::KernelRanker& ranker, const tune::Calibration& gains) {
    double start = steady_s();
    const Lowered& plain = lowered({});
    report_.instructions = plain.instructions;
    report_.rewrites = choose_rewrites(plain.dimensions, gains);
    choose_operations(plain.dimensions);
    dimensions_ = plain.dimensions;
    guard_.set_several_threads(!thread_candidates(dimensions_).empty());
    choose_other_forms(plain);
    const Decisions before_kernels = applied();
    report_.lowering_s = seconds_since(start);
    if (options_.verify && tune::takes_constants(before_kernels)) draw_inputs();
    start = steady_s();
    const std::vector<Kernel>& kernels = lowered(before_kernels).kernels;
    report_.lowering_s += seconds_since(start);
    start = steady_s();
    report_.kernels = choose_options(kernels, ranker, gains);
    report_.ranking_s = seconds_since(start);
    start = steady_s();
    if (options_.verify) verify_fastest_dots(kernels, ranker, gains);
    if (guard_.on() && report_.verified) try_threads();
    if (guard_.on() && report_.verified && options_.layouts) try_layouts();
    report_.verifying_s += seconds_since(start);
    start = steady_s();
    report_.decisions = applied();
    report_.lowered = lowered(report_.decisions);
    drop_unmatched();
    report_.lowering_s += seconds_since(start);
    return std::move(report_);
  }

 private:
  // The program under decisions, which is lowered once: what is chosen in the end is often default XLA, or what the kernels' options
  // were chosen for. References stay valid.
  const Lowered& lowered(const Decisions& decisions) {
    const auto known = lowered_.find(decisions);
    if (known != lowered_.end()) return known->second;
    return lowered_.emplace(decisions, measurer_.lower(decisions, /*want_fusion=*/false)).first->second;
  }

  // Constants are values of the inputs of the check, which are drawn until default XLA's outputs are informative: its compilation, which
  // the check would begin with, is none of the choice.
  void draw_inputs() {
    const double start = steady_s();
    measurer_.verify_on({}, InputKind::Ordinary, options_.verify_limit_s);
    report_.verifying_s = seconds_since(start);
  }

  // Where a model is sure of the forms of an operation, it takes the place of the rule for the arithmetic of its family.
  void choose_operations(const std::vector<Dimension>& dimensions) {
    if (options_.operations == nullptr) return;
    for (const Dimension& d : dimensions) {
      const bool calibrated = is_calibrated(d, *options_.operations);
      if (!tune::is_alone(d) && !calibrated) continue;
      std::erase_if(report_.rewrites, [&](const OptimizedKernel& rewrite) { return rewrite.key == d.key; });
      report_.operations.push_back(choose_form(d, *options_.operations));
    }
  }

  std::vector<OptimizedKernel> choose_options(const std::vector<Kernel>& kernels, cost::KernelRanker& ranker,
                                              const tune::Calibration& gains) {
    const std::vector<double> shares = tune::kernel_shares(kernels);
    std::vector<OptimizedKernel> chosen;
    for (size_t i = 0; i < kernels.size(); ++i) {
      if (measurer_.seconds_left() <= 0) throw tune::Stopped();
      chosen.push_back(described(kernels[i], shares[i]));
      if (chosen.back().options > 1) rank(kernels[i], ranker, gains, options_.max_options, chosen.back());
      options_.on_ranked(static_cast<int>(i) + 1, static_cast<int>(kernels.size()));
    }
    return chosen;
  }

  // Beside default XLA, as they were calibrated: a lowering under forms of convolutions may take seconds.
  void choose_other_forms(const Lowered& plain) {
    if (!options_.predict) return;
    const auto predict = [&](const Decisions& decisions) -> std::optional<PredictedRun> {
      try {
        return options_.predict(decisions.empty() ? plain : measurer_.lower_to_predict(decisions));
      } catch (const Error& e) {
        spdlog::debug("{}: not predicted: {}", to_text(decisions), e.what());
        return std::nullopt;
      }
    };
    for (const ChosenForm& form : choose_forms(plain, options_.form_gains, predict))
      for (const Decision& d : form.decisions) report_.forms.push_back(described(form, d, plain.dimensions));
    if (guard_.on()) libraries_ = libraries_to_try(plain.dimensions, options_.form_gains, predict);
  }

  static std::array<std::vector<OptimizedKernel>*, 6> choices_of(OptimizeReport& report) {
    return {&report.rewrites, &report.operations,     &report.forms,
            &report.kernels,  &report.thread_options, &report.layouts};
  }
  std::array<std::vector<OptimizedKernel>*, 6> all_choices() { return choices_of(report_); }

  Decisions applied() { return applied(report_); }
  static Decisions applied(OptimizeReport& report) {
    Decisions decisions;
    for (const auto* chosen : choices_of(report))
      for (const OptimizedKernel& k : *chosen) {
        if (!k.applied) continue;
        decisions.push_back({k.decision, k.key, k.chosen});
        decisions.insert(decisions.end(), k.under.begin(), k.under.end());
      }
    std::sort(decisions.begin(), decisions.end());
    decisions.erase(std::unique(decisions.begin(), decisions.end()), decisions.end());
    return decisions;
  }

  tune::Measurement check() { return guard_.check(applied()); }

  // A dot in another form is no dot of XLA's, which may have another strategy or share a kernel with what surrounds it, and which library
  // is faster depends on the machine's caches and memory. The gains over the default that models know do not say which way is faster: each
  // has a duel against the winner so far, and the last winner is verified; if nothing of it is left, the one before it is.
  void verify_fastest_dots(const std::vector<Kernel>& kernels, cost::KernelRanker& ranker,
                           const tune::Calibration& gains) {
    drop_inexact();
    std::vector<Way> winners{{std::move(report_), &kernels}};
    const auto challenge = [&](const ChosenForm* library, const std::string& why) {
      std::optional<Way> way = other_dots(winners.front().report, library, why, ranker, gains);
      if (way && wins(library, *way, winners.back())) winners.push_back(std::move(*way));
    };
    if (guard_.on()) challenge(nullptr, "the program is faster with XLA's own dots");
    for (const ChosenForm& library : libraries_) challenge(&library, "the program is faster with another library");
    do {
      report_ = std::move(winners.back().report);
      verify(*winners.back().kernels);
      winners.pop_back();
    } while (applied().empty() && !winners.empty());
  }

  // The program with XLA's own dots, in `library` if one is named; none where that is nothing new. The options of its kernels are chosen
  // anew.
  std::optional<Way> other_dots(const OptimizeReport& from, const ChosenForm* library, const std::string& why,
                                cost::KernelRanker& ranker, const tune::Calibration& gains) {
    report_ = from;
    const Decisions before = applied();
    for (OptimizedKernel& o : report_.operations)
      if (o.applied && is_dot(o)) give_up(o, why);
    if (library != nullptr) {
      const Decision& d = library->decisions.front();
      if (std::binary_search(before.begin(), before.end(), d)) return std::nullopt;
      report_.forms.push_back(described(*library, d, dimensions_));
    }
    if (applied() == before) return std::nullopt;
    report_.kernels.clear();
    const std::vector<Kernel>& kernels = lowered(applied()).kernels;
    report_.kernels = choose_options(kernels, ranker, gains);
    if (applied().empty()) return std::nullopt;  // default XLA
    return Way{report_, &kernels};
  }

  bool wins(const ChosenForm* library, Way& way, Way& over) {
    const tune::Measurement duel = guard_.duel(applied(way.report), applied(over.report));
    if (library != nullptr) {  // in place of what it gains elsewhere
      way.report.forms.back().gain = duel.ratio;
      way.report.forms.back().error = duel.ratio - duel.ratio_low;
    }
    return duel.ok() && guard_.gains(duel);
  }

  // A second thread's worth, and how it waits: beside what was chosen, and then all together beside default XLA.
  void try_threads() { keep_winners(thread_candidates(dimensions_), kMostThreadDuels, report_.thread_options); }

  // After all else, whose kernels they change.
  void try_layouts() {
    std::vector<tune::PredictedLayout> predicted;
    try {
      predicted = options_.layouts(applied());
    } catch (const Error& e) {
      spdlog::debug("layouts stay XLA's: {}", e.what());
      return;
    }
    keep_winners(layout_candidates(predicted), kLayoutDuels, report_.layouts);
  }

  // Of candidates in duels of their own, beside what was chosen; then all together beside default XLA.
  void keep_winners(const std::vector<DuelCandidate>& candidates, int most, std::vector<OptimizedKernel>& into) {
    for (const DuelWinner& won : guard_.winners(applied(), candidates, most)) into.push_back(described(won));
    if (into.empty()) return;
    const tune::Measurement all = check();
    if (all.ok() && guard_.gains(all))
      report_.check = all;
    else
      for (OptimizedKernel& won : into) drop(won, "the program is not faster with it", /*fails=*/!all.ok());
    report_.guarded = !applied().empty();
  }

  // What fails is said at once; what is no faster is common, and in the report.
  void drop(OptimizedKernel& kernel, const std::string& why, bool fails = true) {
    spdlog::log(fails ? spdlog::level::warn : spdlog::level::debug, "{} keeps its default: {} {}", kernel.name,
                kernel.chosen, why);
    give_up(kernel, why);
  }

  // Other choices may have changed what a decision is about; it does nothing, and would be a warning wherever the package is loaded.
  void drop_unmatched() {
    const Decisions& unmatched = report_.lowered.unmatched;
    for (auto* chosen : all_choices())
      for (OptimizedKernel& k : *chosen) {
        const Decision decision{k.decision, k.key, k.chosen};
        if (k.applied && std::find(unmatched.begin(), unmatched.end(), decision) != unmatched.end())
          give_up(k, "beside the other choices nothing in the program is about it");
      }
    report_.decisions = applied();
  }

  void drop_faulty(const std::vector<Kernel>& kernels) {
    for (size_t i = 0; i < kernels.size(); ++i) {
      OptimizedKernel& k = report_.kernels[i];
      if (!k.applied) continue;
      const tune::Measurement m = measurer_.measure_kernel(kernels[i], k.chosen, kOneRound);
      // A kernel's outputs may be uninformative although the program's are not: that is no failure.
      if (!m.ok() && m.outcome != tune::Outcome::Unverified) drop(k, tune::outcome_name(m.outcome));
    }
  }

  // Forms that are less exact than may be, or fail: each is run by itself once.
  void drop_inexact() {
    for (OptimizedKernel& o : report_.operations) {
      if (!o.applied) continue;
      const auto d =
          std::find_if(dimensions_.begin(), dimensions_.end(), [&](const Dimension& of) { return of.key == o.key; });
      const tune::Measurement m = measurer_.measure_kernel(tune::operation_alone(*d, o.under), o.chosen, kOneRound);
      if (!m.ok() && m.outcome != tune::Outcome::Unverified) drop(o, tune::outcome_name(m.outcome));
    }
  }

  // Of the choices that are still applied the last ones: other forms of the transition that was taken last, all options of kernels, all
  // forms of convolutions and dots, all rewrites.
  std::vector<OptimizedKernel*> last_choices() {
    std::vector<OptimizedKernel*> last;
    const auto form = std::find_if(report_.forms.rbegin(), report_.forms.rend(), [](auto& f) { return f.applied; });
    if (form != report_.forms.rend())
      for (OptimizedKernel& f : report_.forms)
        if (f.applied && f.transition == form->transition) last.push_back(&f);
    for (auto* chosen : {&report_.kernels, &report_.operations, &report_.rewrites}) {
      if (!last.empty()) break;
      for (OptimizedKernel& k : *chosen)
        if (k.applied) last.push_back(&k);
    }
    return last;
  }

  void drop_last_choices() {
    const tune::Measurement& m = report_.check;
    const std::string why = m.ok() ? fmt::format("the program is not faster with it ({:.3f})", m.ratio)
                                   : "the program does not pass with it, and no single kernel fails";
    for (OptimizedKernel* choice : last_choices()) drop(*choice, why, /*fails=*/!m.ok());
  }

  void verify(const std::vector<Kernel>& kernels) {
    report_.check = check();
    const tune::Measurement& m = report_.check;
    const auto failing = [&] { return !m.ok() && !applied().empty(); };
    if (failing()) {
      report_.note = fmt::format("the first choice did not pass ({}): {}", tune::outcome_name(m.outcome), m.note);
      if (m.outcome != tune::Outcome::Unverified) {
        drop_faulty(kernels);
        report_.check = check();
      }
    }
    while (!applied().empty() && (!m.ok() || !guard_.gains(m))) {
      drop_last_choices();
      report_.check = check();
    }
    if (m.outcome == tune::Outcome::Unverified)
      report_.note =
          "the outputs of default XLA on these inputs are not informative" + (m.note.empty() ? "" : ": " + m.note);
    else if (!m.ok())
      throw RunError(
          fmt::format("default XLA cannot run this program ({}): {}", tune::outcome_name(m.outcome), m.note));
    report_.verified = m.ok();
    report_.guarded = guard_.on() && m.ok() && !applied().empty();
  }

  tune::Measurer& measurer_;
  const OptimizeOptions& options_;
  Guard guard_;
  std::vector<Dimension> dimensions_;  // of default XLA
  std::vector<ChosenForm> libraries_;  // for all dots, in question
  std::map<Decisions, Lowered> lowered_;
  OptimizeReport report_;
};

}  // namespace

void OptimizeOptions::validate() const {
  if (max_options < 0 || max_options == 1)
    throw Error("a choice needs the default and one more option", "--max-options", "24, or 0 for all");
  if (!(guard_s >= 0 && guard_s <= 3600)) throw Error("a duel takes between 0 and 3600 s", "--guard");
  if (!(verify_limit_s > 0)) throw Error("the time limit of the check must be positive");
}

OptimizeReport optimize_program(tune::Measurer& measurer, cost::KernelRanker& ranker, const tune::Calibration& gains,
                                const OptimizeOptions& options) {
  options.validate();
  return Optimizer(measurer, options).run(ranker, gains);
}

std::vector<std::string> options_to_rank(const Kernel& kernel, int max_options) {
  StoredKernel stored;
  stored.fingerprint = kernel.fingerprint;
  stored.options = kernel.dimension.options;
  stored.default_option = kernel.dimension.default_option;
  collect::CollectOptions options;
  options.max_options = max_options;
  return collect::planned_options(stored, options);
}

}  // namespace hone::optimize
