#include "learn/agents/rollout.h"

#include "base/error.h"

namespace hone::learn {

namespace {

torch::Tensor to_tensor(const std::vector<double>& values) { return torch::tensor(values, torch::kFloat); }

// The values of every step and of the state after it. The critic runs once after the last step, so no environment ever
// waits for it.
void fill_values(Trajectory& t, std::vector<passorder::Observation>& seen,
                 const std::vector<passorder::Observation>& after, const std::vector<int64_t>& after_row,
                 ActorCritic& model, const passorder::EnvironmentSpec& spec, int64_t batch) {
  t.values = values_of(model, seen, spec, batch);
  const int64_t rows = static_cast<int64_t>(seen.size());
  t.next_values.assign(rows, 0);
  for (int64_t row = 0; row + t.environments < rows; ++row)
    if (!t.done[row]) t.next_values[row] = t.values[row + t.environments];
  const std::vector<double> last = values_of(model, after, spec, batch);
  for (size_t i = 0; i < after.size(); ++i) t.next_values[after_row[i]] = last[i];
}

}  // namespace

std::vector<double> advantages_of(const Trajectory& t, double discount, double lambda) {
  const int64_t rows = static_cast<int64_t>(t.rewards.size());
  std::vector<double> advantages(rows);
  for (int64_t row = rows - 1; row >= 0; --row) {
    const double next = t.terminated[row] ? 0 : t.next_values[row];
    const double delta = t.rewards[row] + discount * next - t.values[row];
    const bool goes_on = !t.done[row] && row + t.environments < rows;
    advantages[row] = delta + (goes_on ? discount * lambda * advantages[row + t.environments] : 0);
  }
  return advantages;
}

std::vector<int64_t> sample_actions(const torch::Tensor& log_probabilities, Rng& rng) {
  const torch::Tensor plain = log_probabilities.contiguous();
  const int64_t rows = plain.size(0), actions = plain.size(1);
  std::vector<int64_t> drawn;
  for (int64_t row = 0; row < rows; ++row) {
    const float* p = plain.data_ptr<float>() + row * actions;
    double total = 0;
    for (int64_t a = 0; a < actions; ++a) total += std::exp(static_cast<double>(p[a]));
    double left = rng.uniform() * total;
    int64_t action = 0;
    for (; action + 1 < actions; ++action) {
      left -= std::exp(static_cast<double>(p[action]));
      if (left < 0) break;
    }
    drawn.push_back(action);
  }
  return drawn;
}

std::vector<double> values_of(ActorCritic& model, std::span<const passorder::Observation> observations,
                              const passorder::EnvironmentSpec& spec, int64_t batch) {
  const torch::NoGradGuard no_gradient;
  std::vector<double> values;
  for (size_t first = 0; first < observations.size(); first += batch) {
    const auto part = observations.subspan(first, std::min<size_t>(batch, observations.size() - first));
    const torch::Tensor v = model.value(model.scale->forward(stack(part, spec))).contiguous();
    values.insert(values.end(), v.data_ptr<float>(), v.data_ptr<float>() + v.numel());
  }
  return values;
}

std::optional<Rollout> collect(passorder::VectorEnvironment& environments, ActorCritic& model,
                               const options::AgentOptions& options, Rng& rng,
                               const std::function<bool()>& interrupted) {
  const torch::NoGradGuard no_gradient;
  const passorder::EnvironmentSpec& spec = environments.spec();
  const int64_t count = environments.count(), steps = options.rollout / count;
  Rollout rollout;
  Trajectory t;
  t.environments = count;
  std::vector<passorder::Observation> seen,
      after;  // before each step; last ones of truncated episodes and of the rollout
  std::vector<int64_t> after_row, taken;
  std::vector<float> log_probs;
  for (int64_t s = 0; s < steps; ++s) {
    if (interrupted()) return std::nullopt;
    const std::vector<passorder::Observation>& now = environments.observations();
    seen.insert(seen.end(), now.begin(), now.end());
    const torch::Tensor log_p = model.log_probabilities(model.scale->forward(stack(now, spec)));  // [count, actions]
    const std::vector<int64_t> actions = sample_actions(log_p, rng);
    const std::vector<passorder::VectorStep> results = environments.step(actions);
    for (int64_t e = 0; e < count; ++e) {
      const passorder::Step& step = results[e].step;
      if (!std::isfinite(step.reward)) throw Error("the environment returned a reward that is not finite", spec.id);
      if (!step.terminated && (step.truncated || s + 1 == steps)) {
        after.push_back(step.observation);
        after_row.push_back(s * count + e);
      }
      if (step.done()) rollout.episodes.push_back({results[e].return_, results[e].length});
      t.rewards.push_back(step.reward);
      t.terminated.push_back(step.terminated);
      t.done.push_back(step.done());
      taken.push_back(actions[e]);
      log_probs.push_back(log_p[e][actions[e]].item<float>());
    }
  }
  fill_values(t, seen, after, after_row, model, spec, std::max<int64_t>(options.batch, 1));
  const std::vector<double> advantages = advantages_of(t, options.discount, options.lambda);
  rollout.observations = stack(seen, spec);
  rollout.actions = torch::tensor(taken, torch::kLong);
  rollout.log_probs = torch::tensor(log_probs, torch::kFloat);
  rollout.values = to_tensor(t.values);
  rollout.advantages = to_tensor(advantages);
  rollout.returns = rollout.advantages + rollout.values;
  return rollout;
}

}  // namespace hone::learn
