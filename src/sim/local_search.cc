#include "sim/local_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "sim/block_moves.h"
#include "sim/plan_cost.h"
#include "sim/planners.h"
#include "sim/quick_plans.h"

namespace hone::sim {

namespace {

constexpr double kRateMemory = 0.02;  // weight of the last change in the share of those that made the step shorter
constexpr int64_t kFocusEvery = 32;   // simulations between looks at the critical path, if the plan has changed

class LocalSearch {
 public:
  LocalSearch(Simulator& simulator, const StrategyOptions& options, const Temperatures& temperatures,
              const Proposer& proposer)
      : simulator_(simulator),
        options_(options),
        temperatures_(temperatures),
        proposer_(proposer),
        rng_(options.seed),
        start_(best_quick_plan(simulator, options)),
        plan_(start_.best.plan),
        moves_(simulator, options.tasks, plan_,
               options.tasks.fusion ? plan_priority_fusion(simulator, options).fusion : std::vector<int32_t>(),
               temperatures.moves),
        best_(start_.best.plan),
        least_(start_.cost) {
    if (proposer.scorer || proposer.record) features_.emplace(simulator, plan_);
  }

  Plan run() {
    if (!moves_.possible()) return best_;
    int64_t step = start_.simulations + (options_.tasks.schedule ? 2 : 1);  // with the run for the order, and the next
    if (step > options_.steps) return best_;
    here_ = cost_of(simulator_.run(plan_), simulator_.topology());  // an order in place of none may change transfers
    if (better(here_, least_)) keep();
    const double first = here_.value;
    for (; step < options_.steps && !(options_.stop && options_.stop()); ++step) {
      if (changed_ && step >= next_focus_)
        look(step);
      else
        move(temperature(first, step));
      if (options_.progress)
        options_.progress(step + 1, least_.fits ? least_.value : std::numeric_limits<double>::infinity());
    }
    return best_;
  }

 private:
  double temperature(double first, int64_t step) const {
    if (temperatures_.hot <= 0) return 0;
    double done = static_cast<double>(step) / static_cast<double>(options_.steps);
    if (options_.spent) done = std::min(1.0, std::max(done, options_.spent()));
    return first * temperatures_.hot * std::pow(temperatures_.cold / temperatures_.hot, done);
  }

  // Runs the plan with its trace, for the next moves.
  void look(int64_t step) {
    StepTrace trace;
    simulator_.run(plan_, &trace);
    moves_.focus(trace);
    if (features_) features_->look(trace, here_.value);
    changed_ = false;
    next_focus_ = step + kFocusEvery;
  }

  // The change to simulate, made to the plan.
  void propose() {
    if (!features_) {
      moves_.apply(rng_);
      return;
    }
    const bool chooses = proposer_.scorer && rng_.uniform() >= proposer_.uniform;
    Move best;
    float most = -std::numeric_limits<float>::infinity();
    for (int i = 0; i < (chooses ? proposer_.draws : 1); ++i) {
      Move move = moves_.drawn(rng_);
      if (!chooses && !proposer_.record) {
        best = std::move(move);
        break;
      }
      const MoveVector vector = features_->of(move, rate_);
      const float score = chooses ? proposer_.scorer->score(vector) : 0;
      if (!(score > most)) continue;
      most = score;
      best = std::move(move);
      described_ = vector;
    }
    moves_.apply(best);
  }
  void learn(const PlanCost& cost) {
    const bool shorter = cost.fits == here_.fits && cost.value < here_.value;
    if (proposer_.record && here_.fits) proposer_.record(described_, shorter ? std::log(here_.value / cost.value) : 0);
    rate_ += kRateMemory * (shorter - rate_);
  }

  void move(double temperature) {
    propose();
    // Metropolis' rule as a limit that is known before the simulation.
    double limit = here_.value;
    if (temperature > 0) limit -= temperature * std::log(std::max(rng_.uniform(), 1e-300));
    const StepReport report = here_.fits ? simulator_.run_within(plan_, {limit, true}) : simulator_.run(plan_);
    const PlanCost cost =
        std::isinf(report.step_seconds) ? PlanCost{report.step_seconds, false} : cost_of(report, simulator_.topology());
    if (features_) learn(cost);
    const bool accepted = cost.fits == here_.fits ? cost.value <= limit : cost.fits;
    if (!accepted) {
      moves_.undo();
      return;
    }
    changed_ = changed_ || better(cost, here_);
    here_ = cost;
    if (features_) features_->update(here_.value);
    if (better(here_, least_)) keep();
  }
  void keep() {
    least_ = here_;
    best_ = plan_;
  }

  Simulator& simulator_;
  const StrategyOptions& options_;
  const Temperatures temperatures_;
  const Proposer& proposer_;
  Rng rng_;
  const QuickStart start_;
  Plan plan_;
  BlockMoves moves_;
  std::optional<MoveFeatures> features_;
  MoveVector described_{};  // the last change
  double rate_ = 0.1;       // of changes that make the step shorter
  Plan best_;
  PlanCost least_, here_;  // of best_ and of plan_
  bool changed_ = true;
  int64_t next_focus_ = 0;
};

}  // namespace

Plan local_search(Simulator& simulator, const StrategyOptions& options, const Temperatures& temperatures,
                  const Proposer& proposer) {
  return LocalSearch(simulator, options, temperatures, proposer).run();
}

// Local search that keeps every change that is no worse.
Plan plan_block_moves(Simulator& simulator, const StrategyOptions& options) {
  return local_search(simulator, options, {});
}

}  // namespace hone::sim
