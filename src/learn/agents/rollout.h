// The data on-policy agents learn from: steps of all environments under one policy, with advantages.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/rng.h"
#include "learn/agents/networks.h"
#include "passorder/vector_environment.h"

namespace hone::learn {

// Rewards and values in time order, `environments` numbers per step: row = step * environments + environment.
struct Trajectory {
  int64_t environments = 1;
  std::vector<double> rewards;
  std::vector<double> values;       // V of the state before the step
  std::vector<double> next_values;  // V of the state after it: the last one of its episode where that ended
  std::vector<uint8_t> terminated;  // the state after it is terminal: next_values is not read
  std::vector<uint8_t> done;        // terminated or truncated: the next step belongs to another episode
};

// Generalised advantage estimation (Schulman et al. 2016, equation 16), backwards through time:
//   delta = r + discount V(s') - V(s),  A = delta + discount lambda A',  with V(s') = 0 after a terminal state and A' = 0
// after any end of an episode.
std::vector<double> advantages_of(const Trajectory& trajectory, double discount, double lambda);

struct EpisodeEnd {
  double return_ = 0;  // undiscounted
  int64_t length = 0;
};

struct Rollout {
  ObservationBatch observations;  // [rows]
  torch::Tensor actions;          // [rows], int64
  torch::Tensor log_probs;        // [rows], of the actions, under the policy that took them
  torch::Tensor values;           // [rows], V at that time
  torch::Tensor advantages;       // [rows]
  torch::Tensor returns;          // [rows], advantages + values: the targets of the value function
  std::vector<EpisodeEnd> episodes;
  int64_t rows() const { return actions.size(0); }
};

// One action per row, drawn with the probabilities exp(log_probabilities).
std::vector<int64_t> sample_actions(const torch::Tensor& log_probabilities, Rng& rng);  // [rows, actions]

// Collects options.rollout steps. Changes only the environments. Empty when interrupted.
std::optional<Rollout> collect(passorder::VectorEnvironment& environments, ActorCritic& model,
                               const options::AgentOptions& options, Rng& rng,
                               const std::function<bool()>& interrupted);

// V of each observation, a batch at a time.
std::vector<double> values_of(ActorCritic& model, std::span<const passorder::Observation> observations,
                              const passorder::EnvironmentSpec& spec, int64_t batch);

}  // namespace hone::learn
