#include "sim/local_search.h"
#include "sim/planners.h"

namespace hone::sim {

namespace {

// The best of 18 pairs of temperatures, then of seven sizes of moves, on the training workloads (docs/results/placement.md).
constexpr Temperatures kTemperatures{.hot = 0.003, .cold = 9e-6, .moves = {.largest = 0.5, .single = 1}};

}  // namespace

// Simulated annealing by block moves.
Plan plan_anneal(Simulator& simulator, const StrategyOptions& options) {
  return local_search(simulator, options, kTemperatures);
}

}  // namespace hone::sim
