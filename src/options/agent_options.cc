#include "options/agent_options.h"

#include "base/error.h"
#include "base/suggest.h"
#include "options/option_json.h"
#include "options/require.h"

namespace hone::options {

namespace {

void require_agent(const std::string& agent) {
  std::vector<std::string> names;
  for (const AgentName& row : agent_names()) {
    if (agent == row.name) return;
    names.emplace_back(row.name);
  }
  throw unknown_word("agent", agent, names, "--agent");
}

}  // namespace

const std::vector<AgentName>& agent_names() {
  static const std::vector<AgentName> table = {
      {"dqn", "deep Q-learning: replay, target network, double (Mnih et al. 2015, van Hasselt et al. 2016)"},
      {"reinforce", "Monte-Carlo policy gradient with a baseline (Williams 1992)"},
      {"a2c", "advantage actor critic (Mnih et al. 2016)"},
      {"trpo", "trust region policy optimisation (Schulman et al. 2015)"},
      {"ppo", "proximal policy optimisation (Schulman et al. 2017)"},
  };
  return table;
}

void AgentOptions::validate() const {
  const Require require{"agent options"};
  require_agent(agent);
  require(steps >= 1, "steps", "must be at least 1");
  require(environments >= 1 && environments <= 1024, "environments", "must be 1 to 1024");
  require(threads >= 1 && threads <= 1024, "threads", "must be 1 to 1024");
  require(matmul_precision == "highest" || matmul_precision == "medium", "matmul_precision",
          "must be highest or medium");
  require(policy == "mlp" || policy == "gnn", "policy", "must be mlp or gnn");
  // TRPO differentiates twice and DQN keeps a million observations; graphs allow neither.
  require(policy == "mlp" || (agent != "dqn" && agent != "trpo"), "policy", "gnn does not work with dqn and trpo");
  require(layers.size() <= 16, "layers", "must be at most 16");
  for (int64_t width : layers) require(width >= 1 && width <= 65536, "layers", "must be 1 to 65536 wide");
  require(activation == "tanh" || activation == "relu", "activation", "must be tanh or relu");
  require(gnn_hidden >= 1 && gnn_hidden <= 4096, "gnn_hidden", "must be 1 to 4096");
  require(gnn_layers >= 1 && gnn_layers <= 16, "gnn_layers", "must be 1 to 16");
  require(opcode_embedding >= 1 && opcode_embedding <= 4096, "opcode_embedding", "must be 1 to 4096");
  require(neighbour_cap >= 1 && neighbour_cap <= 1 << 20, "neighbour_cap", "must be 1 to 1048576");
  require(learning_rate > 0 && learning_rate <= 1, "learning_rate", "must be in (0, 1]");
  require(discount >= 0 && discount <= 1, "discount", "must be in [0, 1]");
  require(batch >= 1, "batch", "must be at least 1");
  require(clip_norm >= 0, "clip_norm", "must not be negative");
  require(rollout >= environments && rollout % environments == 0, "rollout", "must be a multiple of environments");
  require(lambda >= 0 && lambda <= 1, "lambda", "must be in [0, 1]");
  require(entropy >= 0, "entropy", "must not be negative");
  require(value_coefficient >= 0, "value_coefficient", "must not be negative");
  require(epochs >= 1, "epochs", "must be at least 1");
  require(clip >= 0, "clip", "must not be negative");
  require(max_kl > 0, "max_kl", "must be positive");
  require(damping >= 0, "damping", "must not be negative");
  require(shrink > 0 && shrink < 1, "shrink", "must be in (0, 1)");
  require(conjugate_steps >= 1, "conjugate_steps", "must be at least 1");
  require(line_search_steps >= 1, "line_search_steps", "must be at least 1");
  require(buffer >= batch, "buffer", "must hold a batch");
  require(learning_starts >= 0, "learning_starts", "must not be negative");
  require(train_every >= 1, "train_every", "must be at least 1");
  require(target_every >= 1, "target_every", "must be at least 1");
  require(exploration_share >= 0 && exploration_share <= 1, "exploration_share", "must be in [0, 1]");
  require(exploration_end >= 0 && exploration_end <= 1, "exploration_end", "must be in [0, 1]");
}

nlohmann::json to_json(const AgentOptions& options) { return write_options(options); }

AgentOptions agent_options_from_json(const nlohmann::json& json) {
  const auto agent = json.find("agent");
  AgentOptions options = paper_options(agent != json.end() && agent->is_string() ? agent->get<std::string>() : "ppo");
  read_options(json, "agent", options);
  return options;
}

AgentOptions paper_options(const std::string& agent) {
  require_agent(agent);
  AgentOptions options;
  options.agent = agent;
  if (agent == "a2c") {  // one gradient step per rollout, of one batch
    options.rollout = options.batch;
    options.normalize_advantage = false;
  }
  if (agent == "dqn") {
    options.activation = "relu";
    options.clip_norm = 10;
  }
  if (agent == "reinforce") options.lambda = 1;  // rewards to the end of the episode, and no values on the way
  return options;
}

}  // namespace hone::options
