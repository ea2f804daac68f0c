// The interface of a Markov decision process: discrete actions, observations of numbers or of a graph, rewards.
// Without torch and XLA; agents, searches and the Python package use it.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hone::passorder {

// A program as input of a graph network; features unscaled.
struct GraphObservation {
  std::vector<uint8_t> opcodes;      // [nodes]
  std::vector<float> node_features;  // [nodes, node_width]
  std::vector<int32_t> edge_from;    // [edges], producer
  std::vector<int32_t> edge_to;      // [edges], its user
  int64_t nodes() const { return static_cast<int64_t>(opcodes.size()); }
};

// Constant properties of an environment.
struct EnvironmentSpec {
  std::string id;                 // "hone/XlaPassOrder-v0"
  int64_t actions = 0;            // legal actions are 0 .. actions - 1
  int64_t observation_width = 0;  // 0 = no vector
  int64_t cost_width = 0;         // 0 = no cost features
  int64_t node_width = 0;         // 0 = no graph
  bool operator==(const EnvironmentSpec&) const = default;
};

struct Observation {
  std::vector<float> values;                      // [observation_width], for the policy
  std::vector<float> costs;                       // [cost_width], for the value function V(s, f) only
  std::shared_ptr<const GraphObservation> graph;  // null without a graph; shared by equal states
};

struct Step {
  Observation observation;  // of the state after the action
  double reward = 0;
  bool terminated = false;  // a terminal state, whose value is 0
  bool truncated = false;   // ended by a limit: the state has a value
  std::string error;        // set if the action failed, which leaves the state unchanged
  bool done() const { return terminated || truncated; }
};

struct ResetOptions {
  std::string program;  // one of the environment's programs; empty = chosen by the seed
};

// An episode is a function of the seed, the options and the actions (except measured rewards): the same calls lead to the
// same state.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual const EnvironmentSpec& spec() const = 0;
  // Begins an episode. Throws Error for an unknown program.
  virtual Observation reset(uint64_t seed, const ResetOptions& options = {}) = 0;
  // Throws Error for an action out of range, InternalError if no episode has begun or it has ended.
  virtual Step step(int64_t action) = 0;
  // Gymnasium's info of the present state; computed on demand, since it may take longer than a step.
  virtual nlohmann::json info() const = 0;
  virtual std::string render() const = 0;  // as text
  // [actions]: false for those that are known to leave the present state as it is; all true if none would change it.
  // A function of the episode so far, not of others.
  virtual std::vector<bool> action_mask() const { return std::vector<bool>(spec().actions, true); }
  // An independent environment in the same state; cheap.
  virtual std::unique_ptr<Environment> clone() const = 0;
};

}  // namespace hone::passorder
