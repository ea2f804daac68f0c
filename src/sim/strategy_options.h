// What a strategy is told: which decisions are to be taken, from where, and for how long.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "sim/simulator.h"

namespace hone::sim {

// What is to be decided. The rest keeps the plan the strategy is given as `base`.
struct Tasks {
  bool placement = true, fusion = false, schedule = false;
  bool operator==(const Tasks&) const = default;
};
// "placement,fusion,schedule" in any order. Throws Error for other words and for none.
Tasks parse_tasks(const std::string& text);

struct StrategyOptions {
  Tasks tasks;
  uint64_t seed = 0;
  int64_t steps = 20000;                // simulations, for those that search
  Plan base;                            // decisions that are not to be taken, and where searches begin
  std::vector<int32_t> default_fusion;  // XLA's own choice as priorities [ops]; empty when not known
  std::function<bool()> stop;           // asked between simulations; true ends a search with its best
  std::function<void(int64_t step, double best_seconds)> progress;
};

using Planner = Plan (*)(Simulator& simulator, const StrategyOptions& options);

}  // namespace hone::sim
