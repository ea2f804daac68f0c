// What searches minimise.
#pragma once

#include "sim/step.h"
#include "sim/topology.h"

namespace hone::sim {

struct PlanCost {
  double value = 0;
  bool fits = true;
};

// The step time; of plans that run out of memory ten times as much and more, by the amount of missing memory.
PlanCost cost_of(const StepReport& report, const Topology& topology);
// Plans that fit are better than all that do not.
bool better(const PlanCost& one, const PlanCost& other);

}  // namespace hone::sim
