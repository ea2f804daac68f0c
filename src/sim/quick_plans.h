// Plans that take a few simulations: where searches and policies begin, and what an answer must not be slower than.
#pragma once

#include <string>
#include <vector>

#include "sim/plan_cost.h"
#include "sim/strategy_options.h"

namespace hone::sim {

struct QuickPlan {
  std::string name;  // "metis, priority fusion"
  Plan plan;
};

// Combinations of placements (one device, layer-wise, METIS, HEFT), fusions (none, XLA's, priority fusion) and orders
// (first come first served, critical path) for the tasks; for other tasks the base's.
std::vector<QuickPlan> quick_plans(Simulator& simulator, const StrategyOptions& options);

struct QuickStart {
  QuickPlan best;
  PlanCost cost;  // of the best
  int64_t simulations = 0;
};
// The best of them, of options.base and, if fusion is decided, of the best placement with everything legal fused and with
// only single consumers. At most options.steps simulations; ends early with the best so far if options.stop says so.
QuickStart best_quick_plan(Simulator& simulator, const StrategyOptions& options);

}  // namespace hone::sim
