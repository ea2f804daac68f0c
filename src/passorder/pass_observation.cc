#include "passorder/pass_observation.h"

#include <algorithm>
#include <cmath>

namespace hone::passorder {
namespace {

constexpr float kOften = 4;      // changes by one action that count
constexpr float kFading = 0.8f;  // of a change with each later one
constexpr float kLong = 45;      // actions of an episode in the paper

float over(double now, double before) { return before > 0 ? static_cast<float>(now / before) : 1.0f; }

void add_changes(std::vector<float>& values, const PassHistory& history, const PassView& view) {
  const size_t first = values.size();
  values.resize(first + 2 * view.count);
  float age = 1;
  for (auto pass = history.rbegin(); pass != history.rend(); ++pass, age *= kFading) {
    const auto found = view.actions.find(*pass);
    if (found == view.actions.end()) continue;  // XLA's own order, from which a walk may start
    float& often = values[first + found->second];
    float& recent = values[first + view.count + found->second];
    if (often == 0) recent = age;
    often = std::min(1.0f, often + 1 / kOften);
  }
}

}  // namespace

PassView::PassView(const std::vector<std::string>& passes) {
  for (const std::string& pass : passes) actions.try_emplace(pass, count++);
}

int64_t PassView::width() const {
  if (graph) return 0;
  const auto actions_shown = static_cast<int64_t>(count);
  return features::kOpcodeCount + (action_history ? actions_shown : 0) + (change_history ? 2 * actions_shown + 2 : 0);
}

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
    if (view.change_history) {
      add_changes(observation.values, history, view);
      observation.values.push_back(
          over(static_cast<double>(state.instructions), static_cast<double>(initial.instructions)));
      observation.values.push_back(static_cast<float>(history.size()) / kLong);
    }
  }
  if (view.costs)
    observation.costs = {
        static_cast<float>(std::log1p(state.flops)),          static_cast<float>(std::log1p(state.transcendentals)),
        static_cast<float>(std::log1p(state.bytes)),          over(state.flops, initial.flops),
        over(state.transcendentals, initial.transcendentals), over(state.bytes, initial.bytes)};
  return observation;
}

}  // namespace hone::passorder
