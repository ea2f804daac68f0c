#include "tune/program/layout_tuner.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "search/strategies.h"

namespace hone::tune {

namespace {

constexpr int kFallbacks = 3;        // next bests the confirmation may fall back to
constexpr double kKeptShare = 0.15;  // of the budget, for the confirmation

class LayoutTuner : public CostModel {
 public:
  LayoutTuner(Measurer& measurer, const LayoutSpace& layouts, const LayoutTuneOptions& options)
      : measurer_(measurer),
        layouts_(layouts),
        options_(options),
        reserve_s_(std::clamp(kKeptShare * options.budget_s, 1.0, 20.0)) {}

  ProgramResult run() {
    try {
      options_.on_progress("default XLA", gain_);
      know_default(measure_default(measurer_));
      if (layouts_.space.dimensions.empty())
        result_.note = "the program has no dot, convolution, reshape or transpose to lay out";
      if (result_.note.empty()) search();
    } catch (const Stopped&) {
      result_.stopped = true;
    }
    result_.stopped = result_.stopped || measurer_.seconds_left() <= 0;
    measurer_.begin_confirmation();
    if (default_.rounds == 0) know_default(measure_default_after_stop(measurer_));
    confirm_best();
    result_.lowered = measurer_.lower(result_.decisions, false);
    return std::move(result_);
  }

  // Run time relative to default XLA, measured.
  std::vector<double> costs(std::span<const Choice> choices) override {
    std::vector<double> costs;
    for (const Choice& choice : choices) costs.push_back(choice == layouts_.space.default_choice() ? 1 : cost(choice));
    return costs;
  }

 private:
  struct Found {
    Decisions decisions;
    double ratio = 0;
  };

  double left() const { return measurer_.seconds_left() - reserve_s_; }

  void know_default(const DefaultRun& run) {
    default_ = run.measurement;
    trial_ = run.trial;
    result_.note = run.note;
  }

  double cost(const Choice& choice) {
    const Decisions decisions = layouts_.space.decisions(choice);
    Step step{fmt::format("{} layouts", decisions.size()), measurer_.measure_program(decisions, {}, trial_), false};
    const Measurement& m = step.measurement;
    step.kept = m.ok() && m.ratio_low > 1 && m.ratio > options_.min_gain;
    if (step.kept) {
      found_.push_back({decisions, m.ratio});
      gain_ = std::max(gain_, m.ratio);
    }
    result_.steps.push_back(step);
    options_.on_progress(step.what, gain_);
    return m.ok() && m.ratio > 0 ? 1 / m.ratio : kFailed;
  }

  void search() {
    if (options_.ranker) return measure_ranked();
    SearchOptions search;
    search.seed = options_.seed;
    search.max_evaluations = std::numeric_limits<int>::max() / 2;
    search.should_stop = [&] { return left() <= 0; };
    make_strategy(options_.strategy)->search(layouts_.space, layouts_.space.default_choice(), *this, search);
  }

  void measure_ranked() {
    options_.on_progress("ranking", gain_);
    std::vector<Choice> choices = sample_layouts(layouts_.space, options_.ranked, options_.seed);
    const std::vector<double> scores = options_.ranker(layouts_, choices);
    if (scores.size() != choices.size()) throw InternalError("the ranker of layouts left some out");
    std::vector<size_t> order(choices.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] < scores[b]; });
    for (size_t i = 0; i < order.size() && i < static_cast<size_t>(options_.measured) && left() > 0; ++i)
      cost(choices[order[i]]);
  }

  void confirm_best() {
    std::stable_sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) { return a.ratio > b.ratio; });
    for (size_t i = 0; i < found_.size() && i <= kFallbacks; ++i) {
      options_.on_progress("confirmation", gain_);
      const Confirmation confirmation = confirm(measurer_, found_[i].decisions, options_.confirm, options_.processes);
      for (const Measurement& duel : confirmation.duels)
        result_.steps.push_back({"confirmation", duel, confirmation.holds});
      if (!confirmation.holds) continue;
      result_.decisions = found_[i].decisions;
      result_.measurement = confirmation.combined;
      return;
    }
    result_.measurement = default_;
    result_.measurement.candidate_ns = default_.baseline_ns;
    result_.measurement.ratio = result_.measurement.ratio_low = result_.measurement.ratio_high = 1;
  }

  Measurer& measurer_;
  const LayoutSpace& layouts_;
  const LayoutTuneOptions& options_;
  double reserve_s_;
  double gain_ = 1;
  Measurement default_;
  Duel trial_;
  std::vector<Found> found_;
  ProgramResult result_;
};

}  // namespace

void LayoutTuneOptions::validate() const {
  if (!(budget_s > 0)) throw Error("the budget must be longer than nothing", "--budget", "for example 60s");
  if (processes < 1) throw Error("the confirmation needs at least one process");
  if (ranked < 1 || measured < 1) throw Error("at least one layout must be ranked and measured");
  make_strategy(strategy);
}

ProgramResult tune_layouts(Measurer& measurer, const LayoutSpace& layouts, const LayoutTuneOptions& options) {
  options.validate();
  return LayoutTuner(measurer, layouts, options).run();
}

}  // namespace hone::tune
