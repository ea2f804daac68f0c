#include <cmath>

#include "learn/agents/rollout.h"
#include "tests/learn/torch_catch.h"
#include "tests/passorder/toy_environments.h"

using namespace hone;
using namespace hone::learn;

namespace {

options::AgentOptions toy_agent(const std::string& agent) {
  options::AgentOptions options = options::paper_options(agent);
  options.layers = {16};
  options.environments = 2;
  options.rollout = 12;
  options.batch = 5;
  return options;
}

}  // namespace

TEST_CASE("advantages of one episode by hand") {
  // r = 1, 2, 3; V = 10, 20, 30; V of the next state = 20, 30, none; discount 0.5, lambda 0.5.
  //   delta = 1 + 10 - 10 = 1,  2 + 15 - 20 = -3,  3 - 30 = -27
  //   A = 1 + 0.25 (-3 + 0.25 (-27)) = -1.4375,  -3 + 0.25 (-27) = -9.75,  -27
  Trajectory t{1, {1, 2, 3}, {10, 20, 30}, {20, 30, 99}, {0, 0, 1}, {0, 0, 1}};
  CHECK(advantages_of(t, 0.5, 0.5) == std::vector<double>{-1.4375, -9.75, -27});
  // Truncated instead of terminated, in a state of value 40: the last delta is 3 + 20 - 30 = -7.
  t.terminated[2] = 0;
  t.next_values[2] = 40;
  CHECK(advantages_of(t, 0.5, 0.5) == std::vector<double>{1 + 0.25 * (-3 + 0.25 * -7), -3 + 0.25 * -7, -7});
}

TEST_CASE("advantages do not leak from one episode into the one before it") {
  // Two environments; the first one's episode is truncated after its first step, in a state of value 8.
  const Trajectory t{2, {1, 5, 2, 6}, {1, 2, 3, 4}, {8, 4, 7, 9}, {0, 0, 0, 0}, {1, 0, 0, 0}};
  const std::vector<double> a = advantages_of(t, 0.5, 1);
  CHECK(a[0] == 1 + 4 - 1);               // alone
  CHECK(a[2] == 2 + 3.5 - 3);             // the next episode's first
  CHECK(a[3] == 6 + 4.5 - 4);             // the other environment's last
  CHECK(a[1] == 5 + 2 - 2 + 0.5 * a[3]);  // and its first
}

TEST_CASE("lambda 0 is one step, lambda 1 the whole rest") {
  const Trajectory t{1, {1, 2, 4}, {3, 5, 7}, {5, 7, 9}, {0, 0, 0}, {0, 0, 0}};
  const double g = 0.9;
  const std::vector<double> one = advantages_of(t, g, 0), all = advantages_of(t, g, 1);
  CHECK(one[0] == Approx(1 + g * 5 - 3));
  CHECK(all[0] == Approx(1 + g * 2 + g * g * 4 + g * g * g * 9 - 3));
}

TEST_CASE("a rollout stores observations, actions and values, and bootstraps where episodes are truncated") {
  const options::AgentOptions options = toy_agent("ppo");
  passorder::VectorEnvironment environments(
      2, [](int64_t) { return std::make_unique<passorder::ChainEnvironment>(5, 3); }, 1, false);  // too short to arrive
  ActorCritic model(options, environments.spec());
  Rng rng(1);
  const auto rollout = collect(environments, model, options, rng, [] { return false; });
  REQUIRE(rollout.has_value());
  CHECK(rollout->rows() == 12);
  CHECK(rollout->episodes.size() == 4);  // six steps of two environments, three steps an episode
  for (const EpisodeEnd& end : rollout->episodes) CHECK(end.length == 3);
  // The stored values equal those the same networks compute again.
  const Inputs inputs = model.scale->forward(rollout->observations);
  const torch::Tensor log_p = model.log_probabilities(inputs).gather(1, rollout->actions.unsqueeze(1)).squeeze(1);
  CHECK(torch::allclose(log_p, rollout->log_probs, 1e-5, 1e-6));
  CHECK(torch::allclose(model.value(inputs), rollout->values, 1e-5, 1e-6));
  // Row 4 is the third step of the first environment: truncated, so A = r + discount V(last) - V(s).
  const auto state = [&](int64_t row) { return rollout->observations.values[row].argmax().item<int64_t>(); };
  const int64_t action = rollout->actions[4].item<int64_t>();
  const int64_t last = std::clamp<int64_t>(state(4) + (action == 1 ? 1 : -1), 0, 4);
  passorder::Observation seen;
  seen.values.assign(5, 0);
  seen.values[last] = 1;
  seen.costs = {0};
  const double reward =
      passorder::ChainEnvironment::kStep + (action == 0 && state(4) == 0 ? passorder::ChainEnvironment::kWall : 0);
  const double expected = reward + options.discount * values_of(model, {&seen, 1}, environments.spec(), 8)[0] -
                          rollout->values[4].item<double>();
  CHECK(rollout->advantages[4].item<double>() == Approx(expected).margin(1e-5));
  CHECK(state(6) == 0);  // a new episode
}

TEST_CASE("actions are drawn with their probabilities") {
  const torch::Tensor log_p = torch::log(torch::tensor({{0.5f, 0.2f, 0.0f, 0.3f}}));
  Rng rng(3);
  std::vector<double> seen(4, 0);
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) ++seen[sample_actions(log_p, rng)[0]];
  CHECK(seen[0] / kDraws == Approx(0.5).margin(0.015));
  CHECK(seen[1] / kDraws == Approx(0.2).margin(0.015));
  CHECK(seen[2] == 0);
  CHECK(seen[3] / kDraws == Approx(0.3).margin(0.015));
}
