// Ways to plan a graph, one file each: the baselines that learned policies are compared with.
#pragma once

#include <string>
#include <vector>

#include "sim/strategy_options.h"

namespace hone::sim {

struct StrategyRow {
  const char* name;  // "metis", "heft", ...
  const char* summary;
  Planner plan;
  bool searches = false;  // takes options.steps simulations
  Tasks decides;          // the tasks it has an opinion about
};
const std::vector<StrategyRow>& strategies();
const StrategyRow& strategy(const std::string& name);  // throws Error with the names there are

}  // namespace hone::sim
