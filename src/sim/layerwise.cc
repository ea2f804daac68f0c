#include <algorithm>

#include "sim/planners.h"

namespace hone::sim {

// What an expert does with a model made of layers: consecutive pieces of the program, as many as there are devices, each
// with its share of the time.
Plan plan_layerwise(Simulator& simulator, const StrategyOptions& options) {
  Plan plan = options.base;
  if (!options.tasks.placement) return plan;
  const int32_t devices = simulator.topology().size();
  const int32_t size = simulator.graph().size();
  // Of each piece, since devices may differ: its share of the whole program's time if devices ran side by side.
  std::vector<double> speed(devices, 0);
  double speeds = 0;
  for (int32_t d = 0; d < devices; ++d) {
    double seconds = 0;
    for (int32_t i = 0; i < size; ++i) seconds += simulator.op_seconds(i, d);
    speed[d] = seconds > 0 ? 1 / seconds : 1;
    speeds += speed[d];
  }
  plan.device.assign(size, 0);
  int32_t device = 0;
  double filled = 0;  // of the device's share, in [0, 1]
  for (int32_t i = 0; i < size; ++i) {
    plan.device[i] = device;
    filled += simulator.op_seconds(i, device) * speeds;
    if (filled >= 1 && device + 1 < devices) {
      ++device;
      filled -= 1;
    }
  }
  return plan;
}

}  // namespace hone::sim
