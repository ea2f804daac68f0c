#include "learn/agents/agent_commands.h"

#include <cstdio>
#include <optional>

#include "base/error.h"
#include "base/progress.h"
#include "learn/agents/agent_run.h"
#include "passorder/pass_env_json.h"
#include "passorder/policy_file.h"

namespace hone::learn {

namespace {

// `workers` processes. Environments with the same worker also share its cached states. Copying an environment is cheap,
// starting a worker is not.
struct Workers {
  passorder::PassEnvOptions options;
  int64_t count = 1;
  std::vector<std::unique_ptr<passorder::PassEnv>> made;

  std::unique_ptr<passorder::Environment> environment(int64_t index) {
    if (static_cast<int64_t>(made.size()) < count) made.push_back(std::make_unique<passorder::PassEnv>(options));
    // Load all programs now, so that one XLA cannot read fails at the start and not when an episode draws it.
    if (index == 0)
      for (const std::string& program : options.programs) made.front()->session().load_file(program);
    return made[index % count]->clone();
  }
};

// The description of the environment stored in a policy: its actions by name, without this machine's file paths.
nlohmann::json lasting(nlohmann::json environment, const passorder::PassEnv& made) {
  environment["passes"] = made.actions();
  environment.erase("programs");
  environment.erase("worker");
  return environment;
}

// The actions of a policy to begin with are those of the environment, if that names none.
void take_passes(const std::string& policy, passorder::PassEnvOptions& options) {
  const auto header = passorder::read_policy_header(options::read_safetensors(policy), policy);
  const auto passes = header.environment.value("passes", std::vector<std::string>());
  if (options.passes.empty()) options.passes = passes;
  if (options.passes != passes) throw Error("the policy orders other passes", policy, "leave out --passes");
}

}  // namespace

nlohmann::json run_gym_train(const nlohmann::json& request, const cost::LearnHost& host) {
  const options::AgentOptions options = options::agent_options_from_json(request.at("options"));
  const nlohmann::json& environment = request.at("environment");
  Workers workers{passorder::pass_env_options_from_json(environment), request.value("workers", int64_t{1}), {}};
  const auto text = [&](const char* name) { return request.value(name, std::string()); };
  if (!text("begin").empty()) take_passes(text("begin"), workers.options);
  const AgentFiles files{text("checkpoint"),
                         request.value("checkpoint_every", int64_t{20000}),
                         request.value("resume", false),
                         text("log_dir"),
                         text("begin"),
                         environment.dump() + text("begin")};
  int64_t begin = 0;
  std::optional<hone::Progress> line;
  const auto show = [&](const AgentProgress& progress) {
    if (!line) {  // a resumed run starts at its checkpoint; only the remaining steps count for the speed
      ProgressOptions shown;
      shown.total = static_cast<double>(options.steps - progress.steps);
      shown.quiet = request.value("quiet", false);
      line.emplace("train " + options.agent, shown);
      begin = progress.steps;
    }
    char note[80];
    std::snprintf(note, sizeof(note), "mean return %.4f of %lld episodes", progress.mean_return,
                  static_cast<long long>(progress.episodes));
    line->update(static_cast<double>(progress.steps - begin), note);
  };
  const AgentReport report = train_agent([&](int64_t index) { return workers.environment(index); }, options, files,
                                         [&] { return host.interrupted && host.interrupted(); }, show);
  line.reset();
  const std::string out = text("out");
  if (!out.empty())
    save_policy(out, *report.agent, options, report.spec,
                {lasting(environment, *workers.made.front()), text("command"), report.steps});
  return {{"agent", options.agent},
          {"environment", report.spec.id},
          {"seed", options.seed},
          {"actions", report.spec.actions},
          {"programs", workers.options.programs.size()},
          {"steps", report.steps},
          {"updates", report.rounds},
          {"episodes", report.episodes},
          {"mean_return", report.mean_return},
          {"mean_length", report.mean_length},
          {"interrupted", report.interrupted},
          {"seconds", report.seconds},
          {"steps_per_second", report.steps_per_s},
          {"log", report.event_file},
          {"output", out}};
}

}  // namespace hone::learn
