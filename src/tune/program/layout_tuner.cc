#include "tune/program/layout_tuner.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/files.h"
#include "cost/layout_ranker.h"
#include "data/tpugraphs.h"
#include "search/strategies.h"

namespace hone::tune {

namespace {

constexpr double kConfirmationShare = 0.15;  // of the budget

// The cost of a choice of layouts: run time relative to default XLA, measured.
class MeasuredLayouts : public CostModel {
 public:
  MeasuredLayouts(SearchRun& run, const Space& space, double min_gain)
      : run_(run), space_(space), min_gain_(min_gain) {}
  std::vector<double> costs(std::span<const Choice> choices) override {
    std::vector<double> costs;
    for (const Choice& choice : choices) costs.push_back(choice == space_.default_choice() ? 1 : cost(choice));
    return costs;
  }
  double cost(const Choice& choice) {
    const Decisions decisions = space_.decisions(choice);
    const Measurement m = run_.try_against_default(fmt::format("{} layouts", decisions.size()), decisions, min_gain_);
    return m.ok() && m.ratio > 0 ? 1 / m.ratio : kFailed;
  }

 private:
  SearchRun& run_;
  const Space& space_;
  double min_gain_;
};

// Measures the best ranked samples until `out_of_time`.
void measure_ranked(MeasuredLayouts& measured, const LayoutSpace& layouts, const LayoutTuneOptions& options,
                    const std::function<bool()>& out_of_time) {
  std::vector<Choice> choices = sample_layouts(layouts.space, options.ranked, options.seed);
  const std::vector<double> scores = options.ranker(layouts, choices);
  if (scores.size() != choices.size()) throw InternalError("the ranker of layouts left some out");
  std::vector<size_t> order(choices.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  for (size_t i = 0; i < order.size() && i < static_cast<size_t>(options.measured) && !out_of_time(); ++i)
    measured.cost(choices[order[i]]);
}

void search_layouts(SearchRun& run, const LayoutSpace& layouts, const LayoutTuneOptions& options) {
  if (layouts.space.dimensions.empty()) {
    run.result.note = "the program has no dot, convolution, reshape or transpose to lay out";
    return;
  }
  const double reserve_s = std::clamp(kConfirmationShare * options.budget_s, 1.0, 20.0);
  const auto out_of_time = [&] { return run.measurer.seconds_left() - reserve_s <= 0; };
  MeasuredLayouts measured(run, layouts.space, options.min_gain);
  if (options.ranker) {
    run.say("ranking");
    return measure_ranked(measured, layouts, options, out_of_time);
  }
  SearchOptions search;
  search.seed = options.seed;
  search.max_evaluations = std::numeric_limits<int>::max() / 2;
  search.should_stop = out_of_time;
  make_strategy(options.strategy)->search(layouts.space, layouts.space.default_choice(), measured, search);
}

}  // namespace

void LayoutTuneOptions::validate() const {
  if (!(budget_s > 0)) throw Error("the budget must be longer than nothing", "--budget", "for example 60s");
  if (processes < 1) throw Error("the confirmation needs at least one process");
  if (ranked < 1 || measured < 1) throw Error("at least one layout must be ranked and measured");
  make_strategy(strategy);
}

ProgramResult tune_layouts(Measurer& measurer, const LayoutSpace& layouts, const LayoutTuneOptions& options) {
  options.validate();
  SearchRun run{measurer, options.on_progress};
  search_and_confirm(run, [&] { search_layouts(run, layouts, options); },
                     {.effort = options.confirm, .processes = options.processes});
  run.result.lowered = measurer.lower(run.result.decisions, false);
  return std::move(run.result);
}

LayoutRanker learned_layout_ranker(const std::string& weights, int threads) {
  read_file(weights);  // so that a missing file is an error before the search
  return [weights, threads](const LayoutSpace& layouts, std::span<const Choice> choices) {
    features::TuningModule module;
    module.graph = layouts.graph;
    module.configurable = layouts.nodes;
    for (const Choice& choice : choices) module.runs.push_back(layout_run(layouts, choice, 0));
    const TempDir folder;
    const std::string path = (folder.path() / "program.npz").string();
    write_npz(path, tpu_graph_arrays(tpu_graph_of(module, "program", weights)));
    return cost::rank_layouts(path, weights, threads);
  };
}

}  // namespace hone::tune
