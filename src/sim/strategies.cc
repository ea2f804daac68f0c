#include "sim/strategies.h"

#include "base/error.h"
#include "base/suggest.h"
#include "sim/planners.h"

namespace hone::sim {

namespace {

template <Planner planner>
Plan over_kernels(Simulator& simulator, const StrategyOptions& options) {
  return plan_kernels(planner, simulator, options);
}

}  // namespace

const std::vector<StrategyRow>& strategies() {
  static const std::vector<StrategyRow> table = {
      {"single", "everything on the first device", plan_single, false, {true, false, false}},
      {"layerwise",
       "consecutive pieces of equal time, as an expert splits layers",
       over_kernels<plan_layerwise>,
       false,
       {true, false, false}},
      {"roundrobin",
       "operations assigned to devices in turn",
       over_kernels<plan_round_robin>,
       false,
       {true, false, false}},
      {"random", "random decisions", plan_random, false, {true, true, true}},
      {"metis", "balanced parts with little data between them", over_kernels<plan_metis>, false, {true, false, false}},
      {"heft",
       "by upward rank, each on the device where it would finish first",
       over_kernels<plan_heft>,
       false,
       {true, false, true}},
      {"critical-path",
       "the operation with the longest path to the end first",
       over_kernels<plan_critical_path>,
       false,
       {false, false, true}},
      {"xla-fusion", "XLA's own fusion", plan_xla_fusion, false, {false, true, false}},
      {"priority-fusion",
       "fuses operations whose fusion saves time, the largest savings first",
       plan_priority_fusion,
       false,
       {false, true, false}},
      {"no-fusion", "every operation a kernel of its own", plan_no_fusion, false, {false, true, false}},
      {"single-fused",
       "one device with priority fusion and the better order: what several devices must beat",
       plan_single_fused,
       false,
       {true, true, true}},
      {"anneal", "simulated annealing by block moves", plan_anneal, true, {true, true, true}},
      {"guided-moves",
       "block moves that a learned scorer picks, several drawn for each simulation",
       plan_guided_moves,
       true,
       {true, true, true}},
      {"block-moves", "local search that moves blocks of operations", plan_block_moves, true, {true, true, true}},
  };
  return table;
}

const StrategyRow& strategy(const std::string& name) {
  std::vector<std::string> names;
  for (const StrategyRow& row : strategies()) {
    if (name == row.name) return row;
    names.emplace_back(row.name);
  }
  throw unknown_word("strategy", name, names, "--strategy");
}

}  // namespace hone::sim
