#include "passorder/pass_observation.h"

#include <cmath>

namespace hone::passorder {
namespace {

float over(double now, double before) { return before > 0 ? static_cast<float>(now / before) : 1.0f; }

}  // namespace

Observation observe(PassSession& session, const std::string& program, const PassState& initial, const PassState& state,
                    const PassHistory& history, const std::vector<bool>& taken, const PassView& view) {
  Observation observation;
  if (view.graph) {
    observation.graph = session.graph(program, state, history);
  } else {
    observation.values.assign(state.counts.begin(), state.counts.end());
    if (view.log_counts)
      for (float& value : observation.values) value = std::log1p(value);
    if (view.action_history) observation.values.insert(observation.values.end(), taken.begin(), taken.end());
  }
  if (view.costs)
    observation.costs = {
        static_cast<float>(std::log1p(state.flops)),          static_cast<float>(std::log1p(state.transcendentals)),
        static_cast<float>(std::log1p(state.bytes)),          over(state.flops, initial.flops),
        over(state.transcendentals, initial.transcendentals), over(state.bytes, initial.bytes)};
  return observation;
}

}  // namespace hone::passorder
