// Searches that change a plan by blocks of operations and simulate every change.
#pragma once

#include <functional>

#include "sim/block_moves.h"
#include "sim/move_scorer.h"
#include "sim/strategy_options.h"

namespace hone::sim {

// Temperatures of annealing as shares of the start's step time: the first and the last. 0: only changes that are no worse.
struct Temperatures {
  double hot = 0, cold = 0;
  MoveSizes moves = {};
};

// Who proposes a change: the best by the scorer of several that were drawn, or the first.
struct Proposer {
  const MoveScorer* scorer = nullptr;  // null: the first that is drawn
  int draws = 1;                       // of which the scorer takes one
  double uniform = 0;                  // share of changes that are the first drawn all the same
  // Called with every simulated change and the logarithm of the step's time before over that after; 0 where it is no shorter. For training.
  std::function<void(const MoveVector&, double gain)> record = nullptr;
};

// Improves the best quick plan (quick_plans.h) or options.base, if that is better, within options.steps simulations or until
// options.stop. Metropolis' rule decides whether a change is kept (Kirkpatrick et al. 1983); temperatures fall
// geometrically. Returns the best plan that was simulated, never worse than the start. The same seed and number of
// simulations give the same plan.
Plan local_search(Simulator& simulator, const StrategyOptions& options, const Temperatures& temperatures,
                  const Proposer& proposer = {});

}  // namespace hone::sim
