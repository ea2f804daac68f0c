#include "sim/planners.h"

namespace hone::sim {

// Everything on the first device.
Plan plan_single(Simulator& simulator, const StrategyOptions& options) {
  Plan plan = options.base;
  if (options.tasks.placement) plan.device.assign(simulator.graph().ops.size(), 0);
  return plan;
}

}  // namespace hone::sim
