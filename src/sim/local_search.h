// Searches that change a plan by blocks of operations and simulate every change.
#pragma once

#include "sim/strategy_options.h"

namespace hone::sim {

// Temperatures of annealing as shares of the start's step time: the first and the last. 0: only changes that are no worse.
struct Temperatures {
  double hot = 0, cold = 0;
};

// Improves the best quick plan (quick_plans.h) or options.base, if that is better, within options.steps simulations or until
// options.stop. Metropolis' rule decides whether a change is kept (Kirkpatrick et al. 1983); temperatures fall
// geometrically. Returns the best plan that was simulated, never worse than the start. The same seed and number of
// simulations give the same plan.
Plan local_search(Simulator& simulator, const StrategyOptions& options, const Temperatures& temperatures);

}  // namespace hone::sim
