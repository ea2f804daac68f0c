#include "sim/planners.h"

namespace hone::sim {

// Critical-path list scheduling: on each device the operation with the longest path to the end runs first (Adam, Chandy,
// Dickson 1974, "highest level first with estimated times"), including the transfers of the given placement.
Plan plan_critical_path(Simulator& simulator, const StrategyOptions& options) {
  Plan plan = options.base;
  if (!options.tasks.schedule) return plan;
  std::vector<int32_t> placement = plan.device;
  if (placement.empty()) placement.assign(simulator.graph().ops.size(), 0);
  plan.schedule = priorities_of(upward_ranks(simulator, placement));
  return plan;
}

}  // namespace hone::sim
