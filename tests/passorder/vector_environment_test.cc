#include "passorder/vector_environment.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "options/agent_options.h"
#include "tests/passorder/toy_environments.h"

using namespace hone;
using namespace hone::passorder;

namespace {

std::unique_ptr<Environment> identity(int64_t) { return std::make_unique<IdentityEnvironment>(); }

// Refuses action 3 in the middle of a step.
class Fragile : public IdentityEnvironment {
 public:
  std::unique_ptr<Environment> clone() const override { return std::make_unique<Fragile>(*this); }

 protected:
  void move(int64_t action, Step& result) override {
    if (action == 3) throw Error("it broke");
    IdentityEnvironment::move(action, result);
  }
};

std::unique_ptr<Environment> fragile(int64_t) { return std::make_unique<Fragile>(); }

std::vector<std::vector<float>> walk(VectorEnvironment& environments, Rng& rng, int steps) {
  std::vector<std::vector<float>> seen;
  for (int i = 0; i < steps; ++i) {
    std::vector<int64_t> actions;
    for (int64_t e = 0; e < environments.count(); ++e) actions.push_back(rng.below(4));
    for (const VectorStep& step : environments.step(actions)) {
      seen.push_back(step.next.values);
      seen.push_back({static_cast<float>(step.step.reward), static_cast<float>(step.return_)});
    }
  }
  return seen;
}

}  // namespace

TEST_CASE("environments on threads behave as in sequence") {
  VectorEnvironment alone(3, identity, 7, false), threads(3, identity, 7, true), other(3, identity, 8, false);
  Rng a(1), b(1), c(1);
  const auto first = walk(alone, a, 25);
  CHECK(first == walk(threads, b, 25));
  CHECK(first != walk(other, c, 25));
}

TEST_CASE("environments of one run begin in different states") {
  VectorEnvironment environments(8, identity, 7, false);
  bool differ = false;
  for (const Observation& o : environments.observations()) differ |= o.values != environments.observations()[0].values;
  CHECK(differ);
}

TEST_CASE("the next episode begins when one ends") {
  VectorEnvironment environments(1, [](int64_t) { return std::make_unique<ChainEnvironment>(3, 20); }, 1, false);
  const std::vector<int64_t> right = {1};
  CHECK(environments.observations()[0].values == std::vector<float>{1, 0, 0});
  CHECK(!environments.step(right)[0].step.done());
  const VectorStep end = environments.step(right)[0];
  CHECK(end.step.terminated);
  CHECK(end.step.observation.values == std::vector<float>{0, 0, 1});
  CHECK(end.next.values == std::vector<float>{1, 0, 0});
  CHECK(end.length == 2);
  CHECK(end.return_ == Approx(ChainEnvironment::kGoal + 2 * ChainEnvironment::kStep));
  CHECK(environments.observations()[0].values == end.next.values);
}

TEST_CASE("restored environments continue in their saved state") {
  VectorEnvironment environments(3, identity, 7, true);
  Rng a(1);
  walk(environments, a, 17);
  const nlohmann::json state = environments.save();
  VectorEnvironment copy(3, identity, 7, false);
  copy.restore(nlohmann::json::parse(state.dump()));
  CHECK(copy.save() == state);
  Rng b(2), c(2);
  CHECK(walk(environments, b, 30) == walk(copy, c, 30));
  VectorEnvironment fresh(3, identity, 7, false), begun(3, identity, 7, false);
  Rng d(3), e(3);
  const nlohmann::json start = fresh.save();
  walk(begun, a, 5);
  begun.restore(start);
  CHECK(walk(fresh, d, 5) == walk(begun, e, 5));
  VectorEnvironment fewer(2, identity, 7, false);
  CHECK_THROWS_AS(fewer.restore(state), Error);
}

TEST_CASE("an error of one environment is rethrown, and no thread is left waiting") {
  VectorEnvironment environments(3, fragile, 7, true);
  environments.observations();
  const std::vector<int64_t> bad = {0, 3, 0};
  CHECK_THROWS_WITH(environments.step(bad), "it broke");
  CHECK_THROWS_AS(VectorEnvironment(0, identity, 7, true), Error);
  const auto uneven = [](int64_t i) { return std::make_unique<IdentityEnvironment>(2 + i); };
  CHECK_THROWS_AS(VectorEnvironment(2, uneven, 7, true), InternalError);
}

TEST_CASE("an error of one environment stops no other, with and without threads") {
  for (const bool threads : {false, true}) {
    INFO(threads);
    VectorEnvironment environments(3, fragile, 7, threads);
    const std::vector<int64_t> bad = {0, 3, 0};
    CHECK_THROWS_AS(environments.step(bad), Error);
    const nlohmann::json state = environments.save();
    CHECK(state[0]["actions"].size() == 1);
    CHECK(state[1]["actions"].empty());
    CHECK(state[2]["actions"].size() == 1);
  }
}

TEST_CASE("actions that are none, or too few or many, step no environment") {
  for (const bool threads : {false, true}) {
    VectorEnvironment environments(3, identity, 7, threads);
    environments.observations();
    const nlohmann::json before = environments.save();
    const auto message = [&](const std::vector<int64_t>& actions) {
      try {
        environments.step(actions);
      } catch (const RunError&) {
        return std::string("a failure of the run");
      } catch (const Error& e) {
        return std::string(e.what()) + " (" + e.hint() + ")";
      }
      return std::string();
    };
    CHECK(message({0, 4, 0}) == "action 4 is out of range (0 to 3)");
    CHECK(message({0, 0, -1}) == "action -1 is out of range (0 to 3)");
    CHECK(message({0, 0}) == "2 actions for 3 environments ()");
    CHECK(message({0, 0, 0, 0}) == "4 actions for 3 environments ()");
    CHECK(environments.save() == before);
    CHECK(message({0, 3, 0}).empty());
  }
}

TEST_CASE("a state of a run with another seed is restored with it") {
  VectorEnvironment environments(3, identity, 7, false), copy(3, identity, 8, false);
  Rng a(1);
  walk(environments, a, 17);
  copy.restore(environments.save(), environments.seed());
  CHECK(copy.seed() == 7);
  Rng b(2), c(2);
  CHECK(walk(environments, b, 30) == walk(copy, c, 30));
}

TEST_CASE("a state that does not fit leaves the environments as they were") {
  VectorEnvironment environments(2, identity, 7, false);
  Rng a(1);
  walk(environments, a, 5);
  const nlohmann::json before = environments.save();
  const std::vector<Observation> seen = environments.observations();
  const auto refused = [&](const nlohmann::json& state) {
    CHECK_THROWS_AS(environments.restore(state, 8), Error);
    CHECK(environments.seed() == 7);
    CHECK(environments.save() == before);
    CHECK(environments.observations()[1].values == seen[1].values);
  };
  refused(nlohmann::json::array());
  refused({before[0]});
  for (const nlohmann::json& action :
       {nlohmann::json(4), nlohmann::json(-1), nlohmann::json(0.5), nlohmann::json("a")}) {
    nlohmann::json state = before;
    state[1]["actions"].push_back(action);
    refused(state);
  }
  nlohmann::json longer = before;
  longer[1]["actions"] = std::vector<int64_t>(10, 0);
  CHECK_THROWS_AS(environments.restore(longer), Error);
}

TEST_CASE("agent options are unchanged by JSON, and errors name the option") {
  options::AgentOptions options = options::paper_options("ppo");
  CHECK(options.layers == std::vector<int64_t>{2048, 2048});
  CHECK(options.learning_rate == 3e-4);
  CHECK(options.discount == 0.99);
  CHECK(options.lambda == 0.95);
  CHECK(options.clip == 0.2);
  CHECK(options.batch == 256);
  CHECK(options.entropy == 0);
  CHECK(options.buffer == 1000000);
  CHECK(options.steps == 200000);
  options.layers = {5, 6};
  options.seed = 123456789012345ull;
  options.value_features = true;
  CHECK(to_json(options::agent_options_from_json(to_json(options))) == to_json(options));
  CHECK(options::agent_options_from_json({{"agent", "a2c"}}).rollout == options::paper_options("a2c").rollout);
  CHECK(options::agent_options_from_json({{"agent", "reinforce"}}).lambda == 1);
  const auto message = [](const nlohmann::json& json) {
    try {
      options::agent_options_from_json(json).validate();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(message({{"agent", "sarsa"}}) == "there is no agent 'sarsa'");
  CHECK(message({{"agent", 3}}) == "agent option of a wrong type: agent");
  CHECK(message({{"speed", 3}}) == "unknown agent option");
  CHECK(message({{"steps", "many"}}) == "agent option of a wrong type: steps");
  CHECK(message({{"learning_rate", -1}}).find("learning_rate") == 0);
  CHECK(message({{"rollout", 100}}).find("rollout") == 0);
  CHECK(message(nlohmann::json::object()) == "");
}
