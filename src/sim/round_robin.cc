#include "sim/planners.h"

namespace hone::sim {

// Operations in program order, assigned to devices in turn.
Plan plan_round_robin(Simulator& simulator, const StrategyOptions& options) {
  Plan plan = options.base;
  if (!options.tasks.placement) return plan;
  const TaskGraph& graph = simulator.graph();
  plan.device.assign(graph.ops.size(), 0);
  int32_t next = 0;
  for (int32_t i = 0; i < graph.size(); ++i)
    if (graph.ops[i].kind != OpKind::Input) plan.device[i] = next++ % simulator.topology().size();
  return plan;
}

}  // namespace hone::sim
