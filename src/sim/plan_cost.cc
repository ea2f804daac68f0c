#include "sim/plan_cost.h"

#include <algorithm>

namespace hone::sim {

PlanCost cost_of(const StepReport& report, const Topology& topology) {
  double missing = 0;
  for (int32_t d = 0; d < topology.size(); ++d)
    missing = std::max(missing, report.peak_bytes[d] / topology.devices[d].memory_bytes - 1);
  return {missing > 0 ? report.step_seconds * (10 + 10 * missing) : report.step_seconds, missing <= 0};
}

bool better(const PlanCost& one, const PlanCost& other) {
  return one.fits != other.fits ? one.fits : one.value < other.value;
}

}  // namespace hone::sim
