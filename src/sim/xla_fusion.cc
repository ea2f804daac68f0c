#include "sim/planners.h"

namespace hone::sim {

// The operations that XLA itself fuses into all consumers; the given plan if that is not known.
Plan plan_xla_fusion(Simulator& simulator, const StrategyOptions& options) {
  Plan plan = options.base;
  if (options.tasks.fusion) plan.fusion = options.default_fusion;
  return plan;
}

}  // namespace hone::sim
