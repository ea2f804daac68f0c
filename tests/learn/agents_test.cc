#include <cmath>

#include "base/files.h"
#include "learn/agents/agent_run.h"
#include "learn/agents/dqn.h"
#include "learn/agents/trpo.h"
#include "tests/learn/callbacks.h"
#include "tests/learn/torch_catch.h"
#include "tests/passorder/toy_environments.h"

using namespace hone;
using namespace hone::learn;

namespace {

options::AgentOptions small(const std::string& agent, int64_t steps) {
  options::AgentOptions options = options::paper_options(agent);
  options.steps = steps;
  options.seed = 3;
  options.layers = {32};
  options.learning_rate = 3e-3;
  options.environments = 4;
  options.environment_threads = false;
  options.batch = 64;
  options.rollout = agent == "a2c" ? 64 : 256;
  options.learning_starts = 500;
  options.target_every = 100;
  return options;
}

// Mean return of episodes with the most probable actions of the saved policy.
double greedy_return(const AgentReport& report, const options::AgentOptions& options,
                     passorder::Environment& environment) {
  const TempDir folder;
  const std::string path = (folder.path() / "policy.safetensors").string();
  save_policy(path, *report.agent, options, report.spec, {});
  const auto policy = open_policy(path);
  double sum = 0;
  constexpr int kEpisodes = 10;
  for (int episode = 0; episode < kEpisodes; ++episode) {
    passorder::Observation seen = environment.reset(1000 + episode);
    for (bool done = false; !done;) {
      const std::vector<float> scores = policy->scores({&seen, 1});
      const passorder::Step step = environment.step(std::max_element(scores.begin(), scores.end()) - scores.begin());
      sum += step.reward;
      done = step.done();
      seen = step.observation;
    }
  }
  return sum / kEpisodes;
}

}  // namespace

TEST_CASE("every agent solves the identity environment") {
  for (const options::AgentName& name : options::agent_names()) {
    const options::AgentOptions options = small(name.name, 6000);
    const AgentReport report = train_agent([](int64_t) { return std::make_unique<passorder::IdentityEnvironment>(); },
                                           options, {}, kNeverStop, kSilent);
    passorder::IdentityEnvironment environment;
    INFO(name.name);
    CHECK(greedy_return(report, options, environment) == 10);
    CHECK(report.mean_return > 5);
  }
}

TEST_CASE("every agent reaches the end of the chain in spite of the reward at the wall") {
  for (const options::AgentName& name : options::agent_names()) {
    options::AgentOptions options = small(name.name, 12000);
    const AgentReport report = train_agent([](int64_t) { return std::make_unique<passorder::ChainEnvironment>(); },
                                           options, {}, kNeverStop, kSilent);
    passorder::ChainEnvironment environment;
    INFO(name.name);
    CHECK(greedy_return(report, options, environment) ==
          Approx(passorder::ChainEnvironment::kGoal + 4 * passorder::ChainEnvironment::kStep));
  }
}

TEST_CASE("a graph policy reads the best action from a node") {
  for (const char* agent : {"a2c", "ppo"}) {
    options::AgentOptions options = small(agent, std::string(agent) == "a2c" ? 10000 : 4000);
    options.policy = "gnn";
    options.gnn_hidden = 16;
    options.gnn_layers = 1;
    options.opcode_embedding = 8;
    options.epochs = 4;
    const AgentReport report =
        train_agent([](int64_t) { return std::make_unique<passorder::IdentityEnvironment>(4, true); }, options, {},
                    kNeverStop, kSilent);
    passorder::IdentityEnvironment environment(4, true);
    INFO(agent);
    CHECK(greedy_return(report, options, environment) == 10);
  }
}

TEST_CASE("a2c is ppo with one epoch, one batch and no clipping") {
  for (const bool normalize : {false, true}) {
    options::AgentOptions a2c = small("a2c", 1000);
    a2c.rollout = a2c.batch = 128;
    a2c.entropy = 0.01;
    a2c.normalize_advantage = normalize;
    options::AgentOptions ppo = a2c;
    ppo.agent = "ppo";
    ppo.epochs = 1;
    ppo.clip = 0;
    const passorder::EnvironmentFactory factory = [](int64_t) {
      return std::make_unique<passorder::ChainEnvironment>();
    };
    passorder::VectorEnvironment environments(4, factory, 1, false);
    Learner first(a2c, environments.spec()), second(ppo, environments.spec());
    Rng acting(1), learning(2);
    auto rollout = collect(environments, *first.model, a2c, acting, kNeverStop);
    Rollout same = *rollout;
    update_a2c(first, *rollout, learning);
    update_ppo(second, same, learning);
    const auto a = first.model->named_parameters(), b = second.model->named_parameters();
    REQUIRE(a.size() == b.size());
    double largest = 0;
    for (const auto& parameter : a) {
      const torch::Tensor other = b[parameter.key()];
      INFO(parameter.key());
      CHECK(torch::allclose(parameter.value().grad(), other.grad(), 1e-4, 1e-7));
      CHECK(torch::allclose(parameter.value(), other, 1e-5, 1e-6));
      largest = std::max(largest, parameter.value().grad().abs().max().item<double>());
    }
    CHECK(largest > 1e-3);  // the comparison is not trivial
    // With clipping or a second epoch they differ.
    Learner third(ppo, environments.spec());
    third.options.epochs = 2;
    Rollout again = *rollout;
    update_ppo(third, again, learning);
    const auto weight = [](Learner& learner) { return learner.model->policy->parameters()[0]; };
    CHECK(!torch::allclose(weight(first), weight(third), 1e-5, 1e-6));
  }
}

TEST_CASE("clipping keeps ppo from following a ratio past its range") {
  options::AgentOptions options = small("ppo", 1000);
  options.epochs = 1;
  options.batch = options.rollout = 64;
  options.normalize_advantage = false;
  options.value_coefficient = 0;
  passorder::VectorEnvironment environments(
      4, [](int64_t) { return std::make_unique<passorder::IdentityEnvironment>(); }, 1, false);
  Learner learner(options, environments.spec());
  Rng acting(1), learning(2);
  auto rollout = collect(environments, *learner.model, options, acting, kNeverStop);
  rollout->advantages = torch::ones({64});
  rollout->log_probs = rollout->log_probs - std::log(1.5);  // every ratio is 1.5 > 1.2, every advantage positive
  update_ppo(learner, *rollout, learning);
  for (const torch::Tensor& parameter : learner.model->policy->parameters())
    CHECK(parameter.grad().abs().max().item<double>() == 0);
}

TEST_CASE("targets of deep Q-learning by hand") {
  Replay::Batch batch;
  batch.rewards = torch::tensor({1.0f, 2.0f, 3.0f});
  batch.terminated = torch::tensor({0.0f, 1.0f, 0.0f});
  const torch::Tensor online = torch::tensor({{1.0f, 5.0f}, {0.0f, 9.0f}, {4.0f, 2.0f}});
  const torch::Tensor target = torch::tensor({{30.0f, 20.0f}, {7.0f, 7.0f}, {10.0f, 40.0f}});
  // Double: the online network chooses 1, -, 0; the target network gives the values.
  CHECK(torch::allclose(q_target(batch, online, target, 0.5, true), torch::tensor({11.0f, 2.0f, 8.0f})));
  CHECK(torch::allclose(q_target(batch, online, target, 0.5, false), torch::tensor({16.0f, 2.0f, 23.0f})));
}

TEST_CASE("the memory forgets the oldest first and survives a checkpoint") {
  Replay replay(3, 1);
  for (int i = 0; i < 5; ++i) {
    const float before = static_cast<float>(i), after = before + 0.5f;
    replay.add({&before, 1}, i, 10.0 * i, {&after, 1}, i == 4);
  }
  CHECK(replay.size() == 3);
  CHECK(torch::equal(replay.observations().squeeze(1), torch::tensor({3.0f, 4.0f, 2.0f})));
  options::TensorFile file;
  replay.save(file);
  Replay other(3, 1);
  other.restore(file);
  Rng a(1), b(1);
  const Replay::Batch x = replay.sample(20, a), y = other.sample(20, b);
  CHECK(torch::equal(x.before, y.before));
  CHECK(torch::equal(x.rewards, x.before.squeeze(1) * 10));
  CHECK(torch::equal(x.after, x.before + 0.5));
  CHECK(torch::equal(x.terminated, (x.before.squeeze(1) == 4).to(torch::kFloat)));
  CHECK(torch::equal(x.actions, y.actions));
  Replay wider(3, 2), smaller(2, 1);
  CHECK_THROWS_AS(wider.restore(file), Error);
  CHECK_THROWS_AS(smaller.restore(file), Error);
}

TEST_CASE("exploration falls linearly to its end and stays there") {
  CHECK(exploration(0, 1000, 0.5, 0.1) == 1);
  CHECK(exploration(250, 1000, 0.5, 0.1) == Approx(0.55));
  CHECK(exploration(500, 1000, 0.5, 0.1) == Approx(0.1));
  CHECK(exploration(900, 1000, 0.5, 0.1) == Approx(0.1));
  CHECK(exploration(0, 1000, 0, 0.1) == Approx(0.1));
}
