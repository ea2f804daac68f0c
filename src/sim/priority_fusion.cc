#include <algorithm>

#include "sim/planners.h"

namespace hone::sim {

// Fuses every operation whose fusion alone saves time, the largest savings first: XLA:GPU's PriorityFusion
// pass without its updates of priorities after each fusion.
Plan plan_priority_fusion(Simulator& simulator, const StrategyOptions& options) {
  Plan plan = options.base;
  if (!options.tasks.fusion) return plan;
  const int32_t size = simulator.graph().size();
  std::vector<std::pair<double, int32_t>> gains;
  for (int32_t op = 0; op < size; ++op)
    if (const auto gain = simulator.fusion_gain(op, 0); gain && *gain > 0) gains.emplace_back(*gain, op);
  std::sort(gains.begin(), gains.end());
  plan.fusion.assign(size, 0);
  for (size_t i = 0; i < gains.size(); ++i)  // equally many operations per level, the highest for the largest gains
    plan.fusion[gains[i].second] = 1 + static_cast<int32_t>(i * (kFusionLevels - 1) / gains.size());
  return plan;
}

}  // namespace hone::sim
