// hone gym train, which runs in libhone_learn.so. hone gym eval is in gym_eval.cc.
#include "cli/gym.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <thread>

#include "base/error.h"
#include "cli/command_tree.h"
#include "cli/struct_options.h"
#include "options/agent_options.h"
#include "passorder/pass_env.h"

namespace hone::cli {

namespace {

struct GymTrainCommand {
  std::vector<std::string> programs, passes;
  std::string environment = "hone/XlaPassOrder-v0", agent = "ppo", begin, out, checkpoint, log_dir;
  int64_t traj_limit = 45, workers = 0, checkpoint_every = 20000;
  double reward_scale = 1;
  bool shaping = false, resume = false;
  StructOptions<options::AgentOptions> given;
  std::shared_ptr<OutputOptions> output;
};

nlohmann::json environment_of(const GymTrainCommand& c, const options::AgentOptions& options) {
  nlohmann::json environment = {{"id", c.environment},
                                {"programs", c.programs},
                                {"traj_limit", c.traj_limit},
                                {"reward_scale", c.reward_scale},
                                {"gamma", options.discount}};  // shaping needs the agent's own discount
  if (!c.passes.empty()) environment["passes"] = c.passes;
  if (c.shaping) environment["shaping"] = true;
  if (options.value_features) environment["costs"] = true;
  if (options.policy == "gnn") environment["graph"] = true;
  return environment;
}

void print_agent(const nlohmann::json& r) {
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
  options::AgentOptions options = options::paper_options(c.agent);
  c.given.put_into(options);
  options.validate();
  if (c.resume && c.checkpoint.empty()) throw Error("nothing to resume from", "--resume", "give --checkpoint FILE");
  const int64_t processors = std::max<int64_t>(1, std::thread::hardware_concurrency());
  const int64_t workers = c.workers > 0 ? c.workers : std::min(options.environments, processors);
  const nlohmann::json request = {{"environment", environment_of(c, options)},
                                  {"options", to_json(options)},
                                  {"workers", workers},
                                  {"begin", c.begin},
                                  {"out", c.out},
                                  {"checkpoint", c.checkpoint},
                                  {"checkpoint_every", c.checkpoint_every},
                                  {"resume", c.resume},
                                  {"log_dir", c.log_dir},
                                  {"command", command_line()},
                                  {"quiet", c.output->quiet}};
  const nlohmann::json response = cost::run_learn_command("gym-train", request, learn_host(*c.output));
  if (c.output->json)
    print(response);
  else
    print_agent(response);
  return 0;
}

void add_environment_options(CLI::App& app, GymTrainCommand& c) {
  app.add_option("PROGRAM", c.programs, "programs; every episode orders the passes of one")->required()->type_name("");
  begin_group(app, "Environment");
  offer(app.add_option(
            "--environment", c.environment,
            fmt::format("environment: {} (default hone/XlaPassOrder-v0)", fmt::join(passorder::pass_env_ids(), ", "))),
        passorder::pass_env_ids());
  app.add_option("--passes", c.passes, "passes to choose from, separated by commas (default: the default action set)")
      ->delimiter(',')
      ->type_name("LIST");
  app.add_option("--traj-limit", c.traj_limit, "most passes of an episode (default 45)")->check(above_zero());
  app.add_option("--reward-scale", c.reward_scale, "factor of all rewards (default 1)")->check(above_zero());
  app.add_flag("--shaping", c.shaping, "add the discounted change of FLOPs + 2 transcendentals to rewards");
  app.add_option("--workers", c.workers,
                 "processes that run XLA (default: one per processor, at most one per environment)")
      ->check(within(1, 1024));
}

void add_agent_options(CLI::App& app, GymTrainCommand& c) {
  std::vector<std::string> names;
  for (const options::AgentName& row : options::agent_names()) names.emplace_back(row.name);
  begin_group(app, "Agent");
  offer(app.add_option("--agent", c.agent, fmt::format("learning algorithm: {} (default ppo)", fmt::join(names, ", "))),
        names);
  app.add_option(
         "--begin", c.begin,
         "all but dqn: a policy to begin with, of the same environment and --layers; the value function learns first")
      ->type_name("FILE");
  c.given.add_to(app);
}

void add_gym_output_options(CLI::App& app, GymTrainCommand& c) {
  begin_group(app, "Output");
  app.add_option(kOutput, c.out, "file for the policy (safetensors)")->required()->type_name("FILE");
  app.add_option("--checkpoint", c.checkpoint, "file of checkpoints, to continue from after an interruption")
      ->type_name("FILE");
  app.add_option("--checkpoint-every", c.checkpoint_every, "steps between checkpoints (default 20000)")
      ->check(above_zero());
  app.add_flag("--resume", c.resume, "continue from the checkpoint, if it exists");
  app.add_option("--log-dir", c.log_dir, "folder for TensorBoard events")->type_name("FOLDER");
  c.output = add_output_options(app);
}

}  // namespace

Runner declare_gym(CLI::App& app) {
  app.require_subcommand(1);
  const auto c = std::make_shared<GymTrainCommand>();
  CLI::App* train = app.add_subcommand("train", "train an agent to order XLA's passes");
  add_environment_options(*train, *c);
  add_agent_options(*train, *c);
  add_gym_output_options(*train, *c);
  CLI::App* evaluate =
      app.add_subcommand("eval", "compare how many instructions policies and searches remove from programs");
  const Runner run_gym_eval = declare_gym_eval(*evaluate);
  CLI::App* leaderboard =
      app.add_subcommand("leaderboard", "compare agents by their files of results, whose claims are checked");
  const Runner run_leaderboard = declare_gym_leaderboard(*leaderboard);
  CLI::App* replay = app.add_subcommand("replay", "run recorded episodes again and compare what each pass leaves");
  const Runner run_replay = declare_gym_replay(*replay);
  return [=] {
    if (replay->parsed()) return run_replay();
    if (leaderboard->parsed()) return run_leaderboard();
    return evaluate->parsed() ? run_gym_eval() : run_gym_train(*c);
  };
}

}  // namespace hone::cli
