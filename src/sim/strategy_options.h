// Input of a strategy: what to decide, the plan to start from, and the budget.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "sim/simulator.h"

namespace hone::sim {

// What to decide. Other decisions stay those of StrategyOptions::base.
struct Tasks {
  bool placement = true, fusion = false, schedule = false;
  bool operator==(const Tasks&) const = default;
};
// "placement,fusion,schedule" in any order. Throws Error for other words and for an empty list.
Tasks parse_tasks(const std::string& text);

struct StrategyOptions {
  Tasks tasks;
  uint64_t seed = 0;
  int64_t steps = 20000;                // simulations, for strategies that search
  Plan base;                            // the other decisions, and the start of searches
  std::vector<int32_t> default_fusion;  // XLA's own choice as priorities [ops]; empty when not known
  std::function<bool()> stop;           // called between simulations; true ends a search with its best plan
  std::function<double()> spent;        // share of the time for searching that has passed; empty: only steps count
  std::function<void(int64_t step, double best_seconds)> progress;
};

using Planner = Plan (*)(Simulator& simulator, const StrategyOptions& options);

}  // namespace hone::sim
