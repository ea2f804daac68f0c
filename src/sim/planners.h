// The planners in the table of strategies.h, one file each, and the functions they share.
#pragma once

#include <vector>

#include "sim/strategy_options.h"

namespace hone::sim {

Plan plan_single(Simulator& simulator, const StrategyOptions& options);
Plan plan_layerwise(Simulator& simulator, const StrategyOptions& options);
Plan plan_round_robin(Simulator& simulator, const StrategyOptions& options);
Plan plan_random(Simulator& simulator, const StrategyOptions& options);
Plan plan_metis(Simulator& simulator, const StrategyOptions& options);
Plan plan_heft(Simulator& simulator, const StrategyOptions& options);
Plan plan_critical_path(Simulator& simulator, const StrategyOptions& options);
Plan plan_xla_fusion(Simulator& simulator, const StrategyOptions& options);
Plan plan_priority_fusion(Simulator& simulator, const StrategyOptions& options);
Plan plan_no_fusion(Simulator& simulator, const StrategyOptions& options);
Plan plan_single_fused(Simulator& simulator, const StrategyOptions& options);
Plan plan_anneal(Simulator& simulator, const StrategyOptions& options);
Plan plan_block_moves(Simulator& simulator, const StrategyOptions& options);
Plan plan_guided_moves(Simulator& simulator, const StrategyOptions& options);

// Runs `planner` on the kernels of the base's fusion and applies its decisions to all their operations, since planners that
// ignore fusion would otherwise split kernels. Fusion stays that of the base.
Plan plan_kernels(Planner planner, Simulator& simulator, const StrategyOptions& options);

// [ops], seconds: the longest path from the start of an operation to the end of the program (Topcuoglu et al. 2002, eq. 6,
// "upward rank"), with times averaged over devices. Without a placement edges take the time of a transfer averaged over
// pairs of devices; with one, edges between devices take the time of that transfer and other edges take none.
std::vector<double> upward_ranks(const Simulator& simulator, const std::vector<int32_t>& placement = {});
// Scheduling priorities of operations by descending rank: the number of operations - position.
std::vector<int32_t> priorities_of(const std::vector<double>& ranks);

inline constexpr int32_t kFusionLevels = 8;  // priorities the searching planners draw from

}  // namespace hone::sim
