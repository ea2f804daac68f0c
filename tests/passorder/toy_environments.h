// Small decision processes with known optimal policies.
#pragma once

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/rng.h"
#include "passorder/environment.h"

namespace hone::passorder {

// The base of toy environments: the state is a number, observed one-hot; the cost feature is the state; the graph is a chain
// of three nodes whose middle opcode is the state.
class ToyEnvironment : public Environment {
 public:
  ToyEnvironment(std::string id, int64_t states, int64_t actions, int64_t limit, bool graph)
      : spec_{std::move(id), actions, graph ? 0 : states, 1, graph ? 2 : 0}, states_(states), limit_(limit) {}
  const EnvironmentSpec& spec() const override { return spec_; }
  Observation reset(uint64_t seed, const ResetOptions& = {}) override {
    rng_ = Rng(seed);
    steps_ = 0;
    state_ = first();
    running_ = true;
    return observe();
  }
  Step step(int64_t action) override {
    if (!running_) throw InternalError("no episode");
    if (action < 0 || action >= spec_.actions) throw Error("action out of range", std::to_string(action));
    Step result;
    move(action, result);
    result.truncated = !result.terminated && ++steps_ >= limit_;
    result.observation = observe();
    running_ = !result.done();
    return result;
  }
  nlohmann::json info() const override { return {{"state", state_}}; }
  std::string render() const override { return std::to_string(state_); }
  int64_t state() const { return state_; }

 protected:
  virtual int64_t first() = 0;
  virtual void move(int64_t action, Step& result) = 0;  // changes state_, sets reward and terminated

  EnvironmentSpec spec_;
  int64_t states_, limit_, steps_ = 0, state_ = 0;
  bool running_ = false;
  Rng rng_{0};

 private:
  Observation observe() const {
    Observation observation;
    observation.costs = {static_cast<float>(state_)};
    if (spec_.node_width == 0) {
      observation.values.assign(states_, 0);
      observation.values[state_] = 1;
      return observation;
    }
    auto graph = std::make_shared<GraphObservation>();
    graph->opcodes = {1, static_cast<uint8_t>(10 + state_), 2};
    graph->node_features = {0, 1, 0, 0, 1, 0};
    graph->edge_from = {0, 1};
    graph->edge_to = {1, 2};
    observation.graph = graph;
    return observation;
  }
};

// The action that equals the state has reward 1, any other 0; states are random.
class IdentityEnvironment : public ToyEnvironment {
 public:
  explicit IdentityEnvironment(int64_t states = 4, bool graph = false)
      : ToyEnvironment("identity", states, states, 10, graph) {}
  std::unique_ptr<Environment> clone() const override { return std::make_unique<IdentityEnvironment>(*this); }

 protected:
  int64_t first() override { return rng_.below(states_); }
  void move(int64_t action, Step& result) override {
    result.reward = action == state_ ? 1 : 0;
    state_ = rng_.below(states_);
  }
};

// A corridor: action 1 goes right, 0 left. The right end ends the episode with reward 1; every step costs 0.02; an action
// into the wall at the left end adds 0.021, which is better than a step and worse than reaching the right end.
class ChainEnvironment : public ToyEnvironment {
 public:
  explicit ChainEnvironment(int64_t states = 5, int64_t limit = 20)
      : ToyEnvironment("chain", states, 2, limit, false) {}
  std::unique_ptr<Environment> clone() const override { return std::make_unique<ChainEnvironment>(*this); }
  static constexpr double kStep = -0.02, kWall = 0.021, kGoal = 1;

 protected:
  int64_t first() override { return 0; }
  void move(int64_t action, Step& result) override {
    result.reward = kStep;
    if (action == 0 && state_ == 0) result.reward += kWall;
    state_ = std::clamp<int64_t>(state_ + (action == 1 ? 1 : -1), 0, states_ - 1);
    result.terminated = state_ == states_ - 1;
    if (result.terminated) result.reward += kGoal;
  }
};

}  // namespace hone::passorder
