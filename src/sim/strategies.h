// Strategies that plan a graph, one file each: the baselines of learned policies.
#pragma once

#include <string>
#include <vector>

#include "sim/strategy_options.h"

namespace hone::sim {

struct StrategyRow {
  const char* name;  // "metis", "heft", ...
  const char* summary;
  Planner plan;
  bool searches = false;  // runs options.steps simulations
  Tasks decides;          // the tasks it decides
};
const std::vector<StrategyRow>& strategies();
const StrategyRow& strategy(const std::string& name);  // throws Error that lists the known names

}  // namespace hone::sim
