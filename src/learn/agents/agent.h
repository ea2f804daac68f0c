// Agents: what all have in common. The algorithms have one file each.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "learn/agents/rollout.h"
#include "learn/train/adam.h"
#include "options/safetensors.h"

namespace hone::learn {

using Scalars = std::vector<std::pair<std::string, double>>;  // named as in the training log

// The result of one round of acting and learning.
struct Round {
  int64_t steps = 0;  // summed over the environments
  std::vector<EpisodeEnd> episodes;
  Scalars scalars;
};

// How far a run has come; it and the seed determine all randomness of a round.
struct RunPlace {
  int64_t steps = 0, rounds = 0;  // done so far
};

class Agent {
 public:
  virtual ~Agent() = default;
  // Acts, then learns. Calls `interrupted` first, and before each environment step until anything but the environments
  // has changed. Empty when it returns true: then nothing was learned.
  virtual std::optional<Round> round(passorder::VectorEnvironment& environments, const RunPlace& place,
                                     const std::function<bool()>& interrupted) = 0;
  // The state that later rounds depend on.
  virtual void save(options::TensorFile& file) const = 0;
  virtual void restore(const options::TensorFile& file) = 0;  // throws Error or std::out_of_range
  // Takes the policy and the input statistics of another one with equal networks; the statistics then stay as they are, and the
  // first updates are of the value function alone. Throws Error where they do not fit, and for agents without a policy network.
  virtual void begin_with(const options::TensorFile& policy) = 0;
  // What acting needs: input statistics as "scale.", the network as "policy.".
  virtual void save_policy(options::TensorFile& file) const = 0;
};

// Throws Error when the options do not fit the environment.
std::unique_ptr<Agent> make_agent(const options::AgentOptions& options, const passorder::EnvironmentSpec& spec);
std::unique_ptr<Agent> make_dqn(const options::AgentOptions& options, const passorder::EnvironmentSpec& spec);
std::unique_ptr<Agent> make_on_policy(const options::AgentOptions& options, const passorder::EnvironmentSpec& spec);
void require_fit(const options::AgentOptions& options, const passorder::EnvironmentSpec& spec);

// The state that an on-policy update changes.
struct Learner {
  options::AgentOptions options;
  std::shared_ptr<ActorCritic> model;
  std::unique_ptr<FusedAdam> optimizer;  // of policy and critic

  Learner(const options::AgentOptions& options, const passorder::EnvironmentSpec& spec);
  void step(const torch::Tensor& loss);  // zeroes gradients, runs backward, clips, steps
};

// On-policy agents differ only in their update. It learns from one rollout and may change it (normalised advantages).
using Update = Scalars (*)(Learner& learner, Rollout& rollout, Rng& rng);
Scalars update_reinforce(Learner& learner, Rollout& rollout, Rng& rng);
Scalars update_a2c(Learner& learner, Rollout& rollout, Rng& rng);
Scalars update_ppo(Learner& learner, Rollout& rollout, Rng& rng);
Scalars update_trpo(Learner& learner, Rollout& rollout, Rng& rng);

// The current policy evaluated on the actions taken.
struct PolicyTerms {
  torch::Tensor log_probs;  // [rows], of the actions
  torch::Tensor entropy;    // scalar, mean over rows
  torch::Tensor values;     // [rows]
};
PolicyTerms evaluate(ActorCritic& model, const Inputs& inputs, const torch::Tensor& actions);

// Regression of the value function on the returns: options.epochs passes of minibatches. Gives the mean squared error. The
// policy stays as it is.
double fit_values(Learner& learner, const Rollout& rollout, Rng& rng);

torch::Tensor normalized(const torch::Tensor& advantages);                             // mean 0, deviation 1
torch::Tensor shuffled(int64_t rows, Rng& rng);                                        // a permutation, int64
double explained_variance(const torch::Tensor& values, const torch::Tensor& returns);  // 1 = perfect

}  // namespace hone::learn
