// What searches minimise.
#pragma once

#include "sim/step.h"
#include "sim/topology.h"

namespace hone::sim {

struct PlanCost {
  double value = 0;
  bool fits = true;
};

// The step time; plans that run out of memory are worse than all others, by the amount of missing memory.
PlanCost cost_of(const StepReport& report, const Topology& topology);

}  // namespace hone::sim
