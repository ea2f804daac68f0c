// What a run of reinforcement learning is: a function of its environments, these options and the seed. Plain data without
// torch; JSON for the way into the learning library, into checkpoints and into policies.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hone::options {

struct AgentName {
  const char* name;  // "ppo"
  const char* summary;
};
const std::vector<AgentName>& agent_names();

// Defaults are Table 1 of Ganai et al. 2022, and where it is silent Stable-Baselines3's, which fit its other values.
// Numbers that differ between agents are set by paper_options().
struct AgentOptions {
  std::string agent = "ppo";  // agent_names()
  int64_t steps = 200000;     // of all environments together
  uint64_t seed = 0;
  int64_t environments = 8;  // stepped together
  bool environment_threads = true;
  int threads = 1;  // of the networks; more than one is not reproducible bit for bit

  std::string policy = "mlp";  // "mlp" reads the vector, "gnn" the graph (and the vector, if there is one)
  std::vector<int64_t> layers = {2048, 2048};  // hidden layers of policy, value and Q networks
  std::string activation = "tanh";             // or "relu"
  int64_t gnn_hidden = 64, gnn_layers = 3, opcode_embedding = 32, neighbour_cap = 20;
  bool value_features = false;  // V(s, f): the value function sees the cost features, the policy does not
  bool normalize = true;        // observations to mean 0 and deviation 1, by running statistics

  double learning_rate = 3e-4, discount = 0.99;
  int64_t batch = 256;
  double clip_norm = 0.5;  // of all gradients together; 0 = none

  // On-policy: A2C, PPO, TRPO.
  int64_t rollout = 2048;  // steps of all environments per update, a multiple of `environments`
  double lambda = 0.95;    // of generalised advantage estimation
  double entropy = 0;      // coefficient of the entropy bonus
  double value_coefficient = 0.5;
  bool normalize_advantage = true;
  int64_t epochs = 10;  // PPO: passes over a rollout; TRPO: those of the value function
  double clip = 0.2;    // PPO; 0 = none
  // TRPO.
  double max_kl = 0.01, damping = 0.1, shrink = 0.8;
  int64_t conjugate_steps = 15, line_search_steps = 10;
  // DQN.
  int64_t buffer = 1000000, learning_starts = 5000;
  int64_t train_every = 1;                                 // rounds of one step of every environment, per gradient step
  int64_t target_every = 1000;                             // gradient steps between copies to the target network
  double exploration_share = 0.2, exploration_end = 0.05;  // from 1 to the end over this share of all steps
  bool double_q = true;

  void validate() const;  // throws Error that names the option
};

nlohmann::json to_json(const AgentOptions& options);
// Members that are left out keep their defaults; throws Error for unknown and ill-typed ones.
AgentOptions agent_options_from_json(const nlohmann::json& json);

// The defaults of one agent. Throws Error that lists the names.
AgentOptions paper_options(const std::string& agent);

}  // namespace hone::options
