#include "sim/local_search.h"
#include "sim/planners.h"

namespace hone::sim {

namespace {

constexpr Temperatures kTemperatures{0.01, 1e-5};

}  // namespace

// Simulated annealing by block moves.
Plan plan_anneal(Simulator& simulator, const StrategyOptions& options) {
  return local_search(simulator, options, kTemperatures);
}

}  // namespace hone::sim
