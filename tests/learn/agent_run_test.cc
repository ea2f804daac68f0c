#include "learn/agents/agent_run.h"

#include <ATen/Context.h>

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "tests/learn/callbacks.h"
#include "tests/learn/torch_catch.h"
#include "tests/passorder/toy_environments.h"

using namespace hone;
using namespace hone::learn;

namespace {

std::unique_ptr<passorder::Environment> chain(int64_t) { return std::make_unique<passorder::ChainEnvironment>(); }

options::AgentOptions small(const std::string& agent) {
  options::AgentOptions options = options::paper_options(agent);
  options.steps = 480;
  options.seed = 5;
  options.layers = {8};
  options.environments = 4;
  options.environment_threads = false;
  options.batch = 16;
  options.rollout = 48;  // episodes continue across rounds
  options.epochs = 2;
  options.learning_starts = 60;
  options.target_every = 7;
  options.buffer = 200;  // overflows
  options.value_features = agent != "dqn";
  return options;
}

std::string state_of(const AgentReport& report) {
  options::TensorFile file;
  report.agent->save(file);
  return options::encode_safetensors(file);
}

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a run sets the precision of products, and names the choices") {
  options::AgentOptions options = small("ppo");
  for (const auto& [word, value] : {std::pair{"medium", at::Float32MatmulPrecision::MEDIUM},
                                    std::pair{"highest", at::Float32MatmulPrecision::HIGHEST}}) {
    options.matmul_precision = word;
    train_agent(chain, options, {}, kNeverStop, kSilent);
    CHECK(at::globalContext().float32MatmulPrecision() == value);
  }
  options.matmul_precision = "low";
  CHECK(message_of([&] { train_agent(chain, options, {}, kNeverStop, kSilent); }).find("highest or medium") !=
        std::string::npos);
}

TEST_CASE("a run of an agent is a function of environments, options and seed") {
  options::AgentOptions options = small("ppo");
  const auto run = [&] { return state_of(train_agent(chain, options, {}, kNeverStop, kSilent)); };
  const std::string first = run();
  CHECK(run() == first);
  options.environment_threads = true;
  CHECK(run() == first);
  options.seed = 6;
  CHECK(run() != first);
}

TEST_CASE("every agent, interrupted and resumed, ends with the bits of an uninterrupted run") {
  for (const options::AgentName& name : options::agent_names()) {
    const TempDir folder;
    const options::AgentOptions options = small(name.name);
    AgentFiles files;
    files.checkpoint = (folder.path() / "run.safetensors").string();
    const AgentReport whole = train_agent(chain, options, {}, kNeverStop, kSilent);
    // Called before every environment step; interrupts in the middle of a round, then in the middle of a later one.
    int64_t asked = 0;
    const AgentReport part = train_agent(chain, options, files, [&] { return ++asked > 40; }, kSilent);
    INFO(name.name);
    CHECK(part.interrupted);
    CHECK(part.steps > 0);
    CHECK(part.steps < options.steps);
    files.resume = true;
    asked = 0;
    const AgentReport more = train_agent(chain, options, files, [&] { return ++asked > 30; }, kSilent);
    CHECK(more.interrupted);
    CHECK(more.steps > part.steps);
    const AgentReport rest = train_agent(chain, options, files, kNeverStop, kSilent);
    CHECK(!rest.interrupted);
    CHECK(rest.steps == whole.steps);
    CHECK(rest.rounds == whole.rounds);
    CHECK(rest.episodes == whole.episodes);
    CHECK(rest.mean_return == whole.mean_return);
    CHECK(state_of(rest) == state_of(whole));
  }
}

TEST_CASE("a checkpoint in the middle is as good as one at an interruption") {
  const TempDir folder;
  const options::AgentOptions options = small("a2c");
  AgentFiles files;
  files.checkpoint = (folder.path() / "run.safetensors").string();
  files.checkpoint_every = 96;
  std::string middle;
  const AgentReport whole = train_agent(chain, options, files, kNeverStop, [&](const AgentProgress& progress) {
    if (progress.steps == 240) middle = read_file(files.checkpoint);  // of step 192
  });
  write_file(files.checkpoint, middle);
  files.resume = true;
  CHECK(state_of(train_agent(chain, options, files, kNeverStop, kSilent)) == state_of(whole));
}

TEST_CASE("a checkpoint of another run or a damaged one is refused") {
  const TempDir folder;
  options::AgentOptions options = small("ppo");
  AgentFiles files;
  files.checkpoint = (folder.path() / "run.safetensors").string();
  train_agent(chain, options, files, kNeverStop, kSilent);
  files.resume = true;
  const auto resume = [&] { train_agent(chain, options, files, kNeverStop, kSilent); };
  options.steps = 960;  // more steps are fine
  resume();
  options.learning_rate = 0.5;
  CHECK(message_of(resume).find("other options") != std::string::npos);
  options = small("ppo");
  CHECK(message_of([&] {
          train_agent([](int64_t) { return std::make_unique<passorder::ChainEnvironment>(6); }, options, files,
                      kNeverStop, kSilent);
        }).find("another environment") != std::string::npos);
  write_file(files.checkpoint, read_file(files.checkpoint).substr(0, 500));
  CHECK_THROWS_AS(resume(), Error);
  write_file(files.checkpoint, "nonsense");
  CHECK_THROWS_AS(resume(), Error);
}

TEST_CASE("a run that is stopped at once still has a policy") {
  const AgentReport report = train_agent(chain, small("ppo"), {}, [] { return true; }, kSilent);
  CHECK(report.interrupted);
  CHECK(report.steps == 0);
  const TempDir folder;
  const std::string path = (folder.path() / "policy.safetensors").string();
  save_policy(path, *report.agent, small("ppo"), report.spec, {{{"id", "chain"}}, "hone gym train", 0});
  const auto policy = open_policy(path);
  CHECK(policy->agent() == "ppo");
  CHECK(policy->environment().at("id") == "chain");
  CHECK(policy->spec() == report.spec);
  const passorder::Observation seen = passorder::ChainEnvironment().reset(1);
  const std::vector<float> scores = policy->scores({&seen, 1});
  REQUIRE(scores.size() == 2);
  CHECK(std::exp(scores[0]) + std::exp(scores[1]) == Approx(1));
  write_file(path, read_file(path).substr(0, 300));
  CHECK_THROWS_AS(open_policy(path), Error);
}

TEST_CASE("a run begins with a policy, which changes after the value function has learned") {
  const TempDir folder;
  const std::string path = (folder.path() / "policy.safetensors").string();
  const auto policy_of = [](const AgentReport& report) {
    options::TensorFile file;
    report.agent->save_policy(file);
    return options::encode_safetensors(file);
  };
  options::AgentOptions options = small("ppo");
  const AgentReport first = train_agent(chain, options, {}, kNeverStop, kSilent);
  save_policy(path, *first.agent, options, first.spec, {{{"id", "chain"}}, "hone gym train", 0});
  AgentFiles files;
  files.begin = path;
  options.seed = 6;
  options.steps = 3 * options.rollout;
  const AgentReport values = train_agent(chain, options, files, kNeverStop, kSilent);
  CHECK(policy_of(values) == policy_of(first));  // input statistics included
  options.steps = 5 * options.rollout;
  const AgentReport both = train_agent(chain, options, files, kNeverStop, kSilent);
  CHECK(policy_of(both) != policy_of(first));
  CHECK(state_of(both) == state_of(train_agent(chain, options, files, kNeverStop, kSilent)));
  options.layers = {9};
  CHECK_THROWS_AS(train_agent(chain, options, files, kNeverStop, kSilent), Error);
  CHECK_THROWS_AS(train_agent(chain, small("dqn"), files, kNeverStop, kSilent), Error);
  options.layers = {8};
  options.activation = "relu";
  CHECK_THROWS_AS(train_agent(chain, options, files, kNeverStop, kSilent), Error);
  options.activation = "tanh";
  CHECK_THROWS_AS(train_agent([](int64_t) { return std::make_unique<passorder::ChainEnvironment>(6); }, options, files,
                              kNeverStop, kSilent),
                  Error);
  write_file(path, "nonsense");
  CHECK_THROWS_AS(train_agent(chain, options, files, kNeverStop, kSilent), Error);
}

TEST_CASE("the log has the curves of a run") {
  const TempDir folder;
  AgentFiles files;
  files.log_dir = (folder.path() / "log").string();
  for (const options::AgentName& name : options::agent_names()) {
    const AgentReport report = train_agent(chain, small(name.name), files, kNeverStop, kSilent);
    const std::string events = read_file(report.event_file);
    INFO(name.name);
    CHECK(events.find("episode/mean_return") != std::string::npos);
    CHECK(events.find("time/steps_per_second") != std::string::npos);
    CHECK(events.find("train/") != std::string::npos);
  }
}

TEST_CASE("agents and environments that do not fit each other are refused") {
  const auto run = [](const options::AgentOptions& options, bool graph) {
    return message_of([&] {
      train_agent([&](int64_t) { return std::make_unique<passorder::IdentityEnvironment>(4, graph); }, options, {},
                  kNeverStop, kSilent);
    });
  };
  options::AgentOptions options = small("ppo");
  CHECK(run(options, true).find("no vector") != std::string::npos);
  options.policy = "gnn";
  CHECK(run(options, false).find("no graph") != std::string::npos);
  options.agent = "trpo";
  CHECK(run(options, true).find("gnn does not work") != std::string::npos);
  options = small("ppo");
  options.rollout = 50;
  CHECK(run(options, false).find("multiple of environments") != std::string::npos);
}
