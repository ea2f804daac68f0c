#include "sim/local_search.h"
#include "sim/planners.h"

namespace hone::sim {

namespace {

constexpr int kDraws = 32;
constexpr double kUniform = 0.1;  // of the moves are drawn without the scorer, so that every plan can be reached

}  // namespace

// Block moves of which a learned scorer picks one of kDraws for each simulation.
Plan plan_guided_moves(Simulator& simulator, const StrategyOptions& options) {
  return local_search(simulator, options, {}, {.scorer = &MoveScorer::shipped(), .draws = kDraws, .uniform = kUniform});
}

}  // namespace hone::sim
