#include "sim/planners.h"

namespace hone::sim {

Plan plan_random(Simulator& simulator, const StrategyOptions& options) {
  Plan plan = options.base;
  Rng rng(options.seed);
  const auto draw = [&](std::vector<int32_t>& list, int64_t below) {
    list.resize(simulator.graph().ops.size());
    for (int32_t& value : list) value = static_cast<int32_t>(rng.below(below));
  };
  if (options.tasks.placement) draw(plan.device, simulator.topology().size());
  if (options.tasks.fusion) {
    draw(plan.fusion, kFusionLevels);
    const double share = rng.uniform();  // of operations to fuse, random so that plans vary in it
    for (int32_t& priority : plan.fusion) priority = rng.uniform() < share ? priority + 1 : 0;
  }
  if (options.tasks.schedule) draw(plan.schedule, 1 << 20);
  return plan;
}

}  // namespace hone::sim
