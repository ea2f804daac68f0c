#include <algorithm>

#include "sim/planners.h"

namespace hone::sim {

// Splits the program into consecutive pieces, one per device, each with its share of the time, as an expert splits a model
// into groups of layers.
Plan plan_layerwise(Simulator& simulator, const StrategyOptions& options) {
  Plan plan = options.base;
  if (!options.tasks.placement) return plan;
  const int32_t devices = simulator.topology().size();
  const int32_t size = simulator.graph().size();
  // 1 / time of the whole program on each device: a device's share of the work is proportional to it.
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
