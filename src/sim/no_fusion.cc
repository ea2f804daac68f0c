#include "sim/planners.h"

namespace hone::sim {

// Every operation is a separate kernel.
Plan plan_no_fusion(Simulator& simulator, const StrategyOptions& options) {
  Plan plan = options.base;
  if (options.tasks.fusion) plan.fusion.clear();
  return plan;
}

}  // namespace hone::sim
