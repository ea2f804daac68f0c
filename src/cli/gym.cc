// hone gym train: the work is done in libhone_learn.so; here are the options. hone gym eval: gym_eval.cc.
#include "cli/gym.h"

#include <fmt/core.h>

#include <algorithm>
#include <thread>

#include "base/error.h"
#include "base/interrupt.h"
#include "cost/learn_library.h"
#include "options/agent_options.h"
#include "passorder/pass_env.h"

namespace hone::cli {

namespace {

struct GymTrainCommand {
  std::vector<std::string> programs, passes;
  std::string environment = "hone/XlaPassOrder-v0", agent = "ppo", out, checkpoint, log_dir, layers;
  int64_t traj_limit = 45, workers = 0, checkpoint_every = 20000;
  double reward_scale = 1;
  bool shaping = false, resume = false, no_normalize = false, single_q = false;
  options::AgentOptions given;  // what the options below set
  std::shared_ptr<OutputOptions> output;
  CLI::App* app = nullptr;
};

// "2048,2048"; "none" = no hidden layer.
std::vector<int64_t> parse_layers(const std::string& text) {
  std::vector<int64_t> layers;
  if (text == "none") return layers;
  for (const std::string& word : CLI::detail::split(text, ',')) {
    int64_t width = 0;
    if (!CLI::detail::lexical_cast(word, width)) throw Error("not a list of widths: " + text, "--layers", "2048,2048");
    layers.push_back(width);
  }
  return layers;
}

// The agent's own defaults, replaced by what was given on the command line.
options::AgentOptions settled(const GymTrainCommand& c) {
  options::AgentOptions o = options::paper_options(c.agent);
  const options::AgentOptions& g = c.given;
  const auto take = [&](const char* option, auto& into, const auto& value) {
    if (c.app->count(option) > 0) into = value;
  };
  take("--steps", o.steps, g.steps);
  take("--seed", o.seed, g.seed);
  take("--environments", o.environments, g.environments);
  take("--threads", o.threads, g.threads);
  take("--policy", o.policy, g.policy);
  if (!c.layers.empty()) o.layers = parse_layers(c.layers);
  take("--activation", o.activation, g.activation);
  take("--gnn-hidden", o.gnn_hidden, g.gnn_hidden);
  take("--gnn-layers", o.gnn_layers, g.gnn_layers);
  take("--value-features", o.value_features, g.value_features);
  if (c.no_normalize) o.normalize = false;
  take("--learning-rate", o.learning_rate, g.learning_rate);
  take("--discount", o.discount, g.discount);
  take("--batch", o.batch, g.batch);
  take("--clip-norm", o.clip_norm, g.clip_norm);
  take("--rollout", o.rollout, g.rollout);
  take("--lambda", o.lambda, g.lambda);
  take("--entropy", o.entropy, g.entropy);
  take("--value-coefficient", o.value_coefficient, g.value_coefficient);
  take("--epochs", o.epochs, g.epochs);
  take("--clip", o.clip, g.clip);
  take("--max-kl", o.max_kl, g.max_kl);
  take("--buffer", o.buffer, g.buffer);
  take("--learning-starts", o.learning_starts, g.learning_starts);
  take("--target-every", o.target_every, g.target_every);
  take("--exploration-share", o.exploration_share, g.exploration_share);
  if (c.single_q) o.double_q = false;
  o.validate();
  return o;
}

nlohmann::json environment_of(const GymTrainCommand& c, const options::AgentOptions& options) {
  nlohmann::json environment = {{"id", c.environment},
                                {"programs", c.programs},
                                {"traj_limit", c.traj_limit},
                                {"reward_scale", c.reward_scale},
                                {"gamma", options.discount}};  // shaping is sound with the agent's discount only
  if (!c.passes.empty()) environment["passes"] = c.passes;
  if (c.shaping) environment["shaping"] = true;
  if (options.value_features) environment["costs"] = true;
  if (options.policy == "gnn") environment["graph"] = true;
  return environment;
}

void print_result(const nlohmann::json& r) {
  fmt::print("{} on {} programs, {} steps in {:.0f} s ({:.0f} steps/s), {} updates, {} episodes{}\n",
             r.at("agent").get<std::string>(), r.at("programs").get<int64_t>(), r.at("steps").get<int64_t>(),
             r.at("seconds").get<double>(), r.at("steps_per_second").get<double>(), r.at("updates").get<int64_t>(),
             r.at("episodes").get<int64_t>(), r.at("interrupted").get<bool>() ? ", interrupted" : "");
  if (r.at("episodes").get<int64_t>() > 0)
    fmt::print("mean return of the last episodes: {:.4f}\n", r.at("mean_return").get<double>());
  if (!r.at("log").get<std::string>().empty()) fmt::print("log: {}\n", r.at("log").get<std::string>());
  fmt::print("policy: {}\n", r.at("output").get<std::string>());
}

int run_gym_train(const GymTrainCommand& c) {
  const options::AgentOptions options = settled(c);
  if (c.resume && c.checkpoint.empty()) throw Error("nothing to resume from", "--resume", "give --checkpoint FILE");
  const int64_t processors = std::max<int64_t>(1, std::thread::hardware_concurrency());
  const int64_t workers = c.workers > 0 ? c.workers : std::min(options.environments, processors);
  const nlohmann::json request = {{"environment", environment_of(c, options)},
                                  {"options", to_json(options)},
                                  {"workers", workers},
                                  {"out", c.out},
                                  {"checkpoint", c.checkpoint},
                                  {"checkpoint_every", c.checkpoint_every},
                                  {"resume", c.resume},
                                  {"log_dir", c.log_dir},
                                  {"command", command_line()},
                                  {"quiet", c.output->quiet}};
  const cost::LearnHost host{interrupted, c.output->quiet ? 0 : c.output->verbose ? 2 : 1};
  const nlohmann::json response = cost::run_learn_command("gym-train", request, host);
  if (c.output->json)
    print(response);
  else
    print_result(response);
  return 0;
}

std::string agent_list() {
  std::string text;
  for (const options::AgentName& row : options::agent_names())
    text += (text.empty() ? "" : ", ") + std::string(row.name);
  return text;
}

void add_environment_options(CLI::App& app, GymTrainCommand& c) {
  std::string ids;
  for (const std::string& id : passorder::pass_env_ids()) ids += (ids.empty() ? "" : ", ") + id;
  app.add_option("PROGRAM", c.programs, "programs; every episode orders the passes of one")->required();
  app.add_option("--environment", c.environment, ids);
  app.add_option("--passes", c.passes, "the actions, separated by commas (default: the default action set)")
      ->delimiter(',');
  app.add_option("--traj-limit", c.traj_limit, "passes of an episode")->check(CLI::PositiveNumber);
  app.add_option("--reward-scale", c.reward_scale, "factor of all rewards")->check(CLI::PositiveNumber);
  app.add_flag("--shaping", c.shaping, "add the discounted change of FLOPs + 2 transcendentals to rewards");
  app.add_option("--workers", c.workers,
                 "processes that run XLA (default: one per processor, at most one per environment)")
      ->check(CLI::Range(1, 1024));
}

void add_agent_options(CLI::App& app, GymTrainCommand& c) {
  options::AgentOptions& g = c.given;
  app.add_option("--agent", c.agent, agent_list());
  app.add_option("--steps", g.steps, "of all environments together");
  app.add_option("--seed", g.seed, "of weights, actions and episodes");
  app.add_option("--environments", g.environments, "stepped together");
  app.add_option("--threads", g.threads, "of the networks");
  app.add_option("--policy", g.policy, "mlp: reads operation counts; gnn: reads the graph");
  app.add_option("--layers", c.layers, "widths of hidden layers, 2048,2048");
  app.add_option("--activation", g.activation, "tanh or relu");
  app.add_option("--gnn-hidden", g.gnn_hidden, "width of node embeddings");
  app.add_option("--gnn-layers", g.gnn_layers, "layers of the graph network");
  app.add_flag("--value-features", g.value_features, "the value function sees FLOPs, transcendentals and bytes");
  app.add_flag("--no-normalize", c.no_normalize, "observations as they are");
  app.add_option("--learning-rate", g.learning_rate, "of Adam");
  app.add_option("--discount", g.discount, "gamma");
  app.add_option("--batch", g.batch, "rows of a gradient step");
  app.add_option("--clip-norm", g.clip_norm, "of all gradients together; 0 = no clipping");
  app.add_option("--rollout", g.rollout, "a2c, trpo, ppo: steps per update, a multiple of --environments");
  app.add_option("--lambda", g.lambda, "a2c, trpo, ppo: of generalised advantage estimation");
  app.add_option("--entropy", g.entropy, "a2c, trpo, ppo: coefficient of the entropy bonus");
  app.add_option("--value-coefficient", g.value_coefficient, "a2c, ppo: of the value loss");
  app.add_option("--epochs", g.epochs, "ppo: passes over a rollout; trpo: of the value function");
  app.add_option("--clip", g.clip, "ppo: range of the probability ratio; 0 = no clipping");
  app.add_option("--max-kl", g.max_kl, "trpo: size of the trust region");
  app.add_option("--buffer", g.buffer, "dqn: transitions kept");
  app.add_option("--learning-starts", g.learning_starts, "dqn: random steps at first");
  app.add_option("--target-every", g.target_every, "dqn: gradient steps between copies to the target network");
  app.add_option("--exploration-share", g.exploration_share, "dqn: share of all steps over which randomness falls");
  app.add_flag("--single-q", c.single_q, "dqn: the target network chooses the next action, too");
}

}  // namespace

Runner declare_gym(CLI::App& app) {
  app.require_subcommand(1);
  const auto c = std::make_shared<GymTrainCommand>();
  CLI::App* train = app.add_subcommand("train", "train an agent to order XLA's passes");
  c->app = train;
  add_environment_options(*train, *c);
  add_agent_options(*train, *c);
  train->add_option("--out,-o", c->out, "policy to write (safetensors)")->required();
  train->add_option("--checkpoint", c->checkpoint, "file to go on from if the run is cut off");
  train->add_option("--checkpoint-every", c->checkpoint_every, "steps")->check(CLI::PositiveNumber);
  train->add_flag("--resume", c->resume, "go on from the checkpoint, if it exists");
  train->add_option("--log-dir", c->log_dir, "folder for TensorBoard events");
  c->output = add_output_options(*train);
  CLI::App* evaluate = app.add_subcommand("eval", "what policies and searches take away from programs");
  const Runner run_gym_eval = declare_gym_eval(*evaluate);
  return [c, evaluate, run_gym_eval] { return evaluate->parsed() ? run_gym_eval() : run_gym_train(*c); };
}

}  // namespace hone::cli
