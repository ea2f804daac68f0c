// Options of a reinforcement-learning run, which is a function of its environments, these options and the seed. Plain data
// without torch; JSON for the learning library, checkpoints and policies.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "options/option_list.h"

namespace hone::options {

struct AgentName {
  const char* name;  // "ppo"
  const char* summary;
};
const std::vector<AgentName>& agent_names();

// Defaults are those of Table 1 of Ganai et al. 2022, else those of Stable-Baselines3, which match the table's other values.
// paper_options() sets values that differ between agents.
struct AgentOptions {
  std::string agent = "ppo";  // agent_names()
  int64_t steps = 200000;     // of all environments together
  uint64_t seed = 0;
  int64_t environments = 8;  // stepped together
  bool environment_threads = true;
  int threads = 1;  // of the networks; results are bit-identical with one only
  // As torch.set_float32_matmul_precision: "highest", or "medium", which on CPUs with AMX rounds the inputs of products to
  // bfloat16 and sums in float32; on others it saves nothing.
  std::string matmul_precision = "highest";

  std::string policy = "mlp";  // "mlp" reads the vector, "gnn" the graph (and the vector, if there is one)
  std::vector<int64_t> layers = {2048, 2048};  // hidden layers of policy, value and Q networks
  std::string activation = "tanh";             // or "relu"
  int64_t gnn_hidden = 64, gnn_layers = 3, opcode_embedding = 32, neighbour_cap = 20;
  bool value_features = false;  // V(s, f): the value function also reads the cost features
  bool normalize = true;        // observations to mean 0 and standard deviation 1, by running statistics

  double learning_rate = 3e-4, discount = 0.99;
  int64_t batch = 256;
  double clip_norm = 0.5;  // norm of all gradients; 0 = no clipping

  // On-policy: REINFORCE, A2C, TRPO, PPO.
  int64_t rollout = 2048;  // steps of all environments per update, a multiple of `environments`
  double lambda = 0.95;    // of generalised advantage estimation
  double entropy = 0;      // coefficient of the entropy bonus
  double value_coefficient = 0.5;
  bool normalize_advantage = true;
  int64_t epochs = 10;  // PPO: passes over a rollout; REINFORCE, TRPO: those of the value function
  double clip = 0.2;    // PPO; 0 = none
  // TRPO.
  double max_kl = 0.01, damping = 0.1, shrink = 0.8;
  int64_t conjugate_steps = 15, line_search_steps = 10;
  // DQN.
  int64_t buffer = 1000000, learning_starts = 5000;
  int64_t train_every = 1;                                 // steps of every environment per gradient step
  int64_t target_every = 1000;                             // gradient steps between copies to the target network
  double exploration_share = 0.2, exploration_end = 0.05;  // from 1 to the end over this share of all steps
  bool double_q = true;

  void validate() const;  // throws Error that names the option
};

template <class Visit>
void for_each_option(ListOf<AgentOptions>, Visit&& visit) {
  using O = AgentOptions;
  visit({"agent"}, &O::agent);
  visit({"steps", "steps of all environments together"}, &O::steps);
  visit({"seed", "seed for weights, actions and episodes"}, &O::seed);
  visit({"environments", "environments that are stepped together"}, &O::environments);
  visit({"environment_threads"}, &O::environment_threads);
  visit({"threads", "threads of the networks; with more than one, runs differ in the last bits"}, &O::threads);
  visit({"matmul_precision",
         "matrix products of the networks: highest (float32) or medium (bfloat16 inputs, float32 sums; faster on CPUs "
         "with AMX)"},
        &O::matmul_precision);
  visit({"policy", "kind of network: mlp reads operation counts, gnn reads the graph", "--network,--policy"},
        &O::policy);
  visit({"layers", "widths of the hidden layers, separated by commas, or none"}, &O::layers);
  visit({"activation", "activation function: tanh or relu (default tanh; dqn: relu)"}, &O::activation);
  visit({"gnn_hidden", "width of the graph network's node embeddings"}, &O::gnn_hidden);
  visit({"gnn_layers", "number of layers of the graph network"}, &O::gnn_layers);
  visit({"opcode_embedding"}, &O::opcode_embedding);
  visit({"neighbour_cap"}, &O::neighbour_cap);
  visit({"value_features", "show FLOPs, transcendentals and bytes to the value function"}, &O::value_features);
  visit({"normalize", "leave observations unnormalised", "--no-normalize", true}, &O::normalize);
  visit({"learning_rate", "learning rate of Adam"}, &O::learning_rate);
  visit({"discount", "discount factor gamma of future rewards"}, &O::discount);
  visit({"batch", "rows of one gradient step"}, &O::batch);
  visit({"clip_norm", "largest norm of all gradients together, 0 = no clipping (default 0.5; dqn: 10)"}, &O::clip_norm);
  visit({"rollout", "all but dqn: steps per update, a multiple of --environments (default 2048; a2c: 256)"},
        &O::rollout);
  visit({"lambda", "all but dqn: lambda of generalised advantage estimation (default 0.95; reinforce: 1)"}, &O::lambda);
  visit({"entropy", "all but dqn: coefficient of the entropy bonus"}, &O::entropy);
  visit({"value_coefficient", "a2c, ppo: coefficient of the value loss"}, &O::value_coefficient);
  visit({"normalize_advantage"}, &O::normalize_advantage);
  visit({"epochs", "ppo: passes over a rollout; reinforce, trpo: passes of the value function over it"}, &O::epochs);
  visit({"clip", "ppo: clipping range of the probability ratio, 0 = no clipping"}, &O::clip);
  visit({"max_kl", "trpo: largest KL divergence of one update"}, &O::max_kl);
  visit({"damping"}, &O::damping);
  visit({"shrink"}, &O::shrink);
  visit({"conjugate_steps"}, &O::conjugate_steps);
  visit({"line_search_steps"}, &O::line_search_steps);
  visit({"buffer", "dqn: transitions in the replay buffer"}, &O::buffer);
  visit({"learning_starts", "dqn: random steps before learning starts"}, &O::learning_starts);
  visit({"train_every"}, &O::train_every);
  visit({"target_every", "dqn: gradient steps between copies to the target network"}, &O::target_every);
  visit({"exploration_share", "dqn: share of all steps over which random actions become rare"}, &O::exploration_share);
  visit({"exploration_end"}, &O::exploration_end);
  visit({"double_q", "dqn: let the target network choose the next action as well (no double Q-learning)", "--single-q",
         true},
        &O::double_q);
}

nlohmann::json to_json(const AgentOptions& options);
// Missing members keep their defaults; throws Error for unknown and ill-typed ones.
AgentOptions agent_options_from_json(const nlohmann::json& json);

// The defaults of one agent. Throws Error that lists the names.
AgentOptions paper_options(const std::string& agent);

}  // namespace hone::options
