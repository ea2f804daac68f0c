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
  options.rollout = agent == "a2c" || agent == "reinforce" ? 64 : 256;  // whose policies take one step per rollout
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
  for (const std::string precision : {"medium", "highest"}) {
    for (const options::AgentName& name : options::agent_names()) {
      options::AgentOptions options = small(name.name, 6000);
      options.matmul_precision = precision;
      const AgentReport report = train_agent([](int64_t) { return std::make_unique<passorder::IdentityEnvironment>(); },
                                             options, {}, kNeverStop, kSilent);
      passorder::IdentityEnvironment environment;
      INFO(name.name << ", " << precision);
      CHECK(greedy_return(report, options, environment) == 10);
      CHECK(report.mean_return > 5);
    }
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

TEST_CASE("a graph policy reads the answer off a node") {
  for (const char* agent : {"reinforce", "a2c", "ppo"}) {
    options::AgentOptions options = small(agent, std::string(agent) == "ppo" ? 4000 : 10000);
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

TEST_CASE("reinforce learns from what episodes paid to their end, whatever the value function says") {
  options::AgentOptions options = small("reinforce", 1000);
  options.environments = 1;
  // Two states, one of them the goal: action 1 arrives and ends the episode, action 0 runs into the wall and stays.
  constexpr double kEnd = passorder::ChainEnvironment::kStep + passorder::ChainEnvironment::kGoal;
  constexpr double kStay = passorder::ChainEnvironment::kStep + passorder::ChainEnvironment::kWall;
  const auto factory = [](int64_t) { return std::make_unique<passorder::ChainEnvironment>(2, 1000); };
  passorder::VectorEnvironment environments(1, factory, 1, false);
  Learner learner(options, environments.spec());
  Rng acting(1);
  const auto rollout = collect(environments, *learner.model, options, acting, kNeverStop);
  double expected = 0;
  bool ends = false;  // inside the rollout
  int64_t steps_before_an_end = 0;
  for (int64_t row = rollout->rows() - 1; row >= 0; --row) {
    const bool last = rollout->actions[row].item<int64_t>() == 1;
    ends = ends || last;
    if (!ends) continue;
    expected = last ? kEnd : kStay + options.discount * expected;
    CHECK(rollout->returns[row].item<double>() == Approx(expected).margin(1e-5));
    steps_before_an_end += !last;
  }
  CHECK(steps_before_an_end > 10);
}

TEST_CASE("the gradient of reinforce by hand") {
  options::AgentOptions options = small("reinforce", 1000);
  options.layers = {};
  options.normalize_advantage = false;
  const passorder::IdentityEnvironment environment;
  Learner learner(options, environment.spec());
  const auto parameters = learner.model->policy->named_parameters();
  const torch::Tensor bias = parameters["layer0.bias"];  // [4], zeros
  {
    const torch::NoGradGuard no_gradient;
    parameters["layer0.weight"].zero_();  // every action has probability 1/4
  }
  Rollout rollout;
  rollout.observations = {torch::zeros({2, 4}), torch::zeros({2, 1}), {}};
  rollout.actions = torch::tensor({0, 1}, torch::kLong);
  rollout.advantages = torch::tensor({3.0f, 1.0f});
  rollout.returns = torch::tensor({5.0f, 5.0f});
  Rng rng(1);
  const torch::Tensor value_before = learner.model->critic->parameters()[1].detach().clone();
  const Scalars scalars = update_reinforce(learner, rollout, rng);
  // mean(A (1[a] - pi)) is (3 * 3/4 - 1 * 1/4) / 2 = 1 for action 0, (-3 * 1/4 + 1 * 3/4) / 2 = 0 for action 1, which was
  // no better than the mean, and (-3 * 1/4 - 1 * 1/4) / 2 = -1/2 for the others. Adam's first step has the length of the
  // learning rate in each direction.
  const double step = options.learning_rate;
  for (int64_t action = 0; action < 4; ++action) {
    const double expected = action == 0 ? step : action == 1 ? 0 : -step;
    INFO(action);
    CHECK(bias[action].item<double>() == Approx(expected).margin(step / 20));
  }
  CHECK(scalars[0].second == Approx(2 * std::log(4)));                                         // mean of -A log(1/4)
  CHECK(learner.model->critic->parameters()[1].item<double>() > value_before.item<double>());  // towards 5
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
