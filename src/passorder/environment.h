// What an agent sees of a Markov decision process: discrete actions, an observation of numbers or of a graph, a reward.
// Free of torch and of XLA; agents, searches and the Python package speak this one interface.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hone::passorder {

// A program as a graph network reads it; features unscaled.
struct GraphObservation {
  std::vector<uint8_t> opcodes;      // [nodes]
  std::vector<float> node_features;  // [nodes, node_width]
  std::vector<int32_t> edge_from;    // [edges], producer
  std::vector<int32_t> edge_to;      // [edges], its user
  int64_t nodes() const { return static_cast<int64_t>(opcodes.size()); }
};

// Sizes that never change in the life of an environment.
struct EnvironmentSpec {
  std::string id;                 // "hone/XlaPassOrder-v0"
  int64_t actions = 0;            // legal actions are 0 .. actions - 1
  int64_t observation_width = 0;  // 0 = no vector
  int64_t cost_width = 0;         // 0 = no cost features
  int64_t node_width = 0;         // 0 = no graph
  bool operator==(const EnvironmentSpec&) const = default;
};

struct Observation {
  std::vector<float> values;                      // [observation_width], what the policy sees
  std::vector<float> costs;                       // [cost_width], what only the value function V(s, f) sees
  std::shared_ptr<const GraphObservation> graph;  // null without a graph; shared by equal states
};

struct Step {
  Observation observation;  // of the state after the action
  double reward = 0;
  bool terminated = false;  // the end lies in the problem: nothing comes after
  bool truncated = false;   // the end lies in a limit: the state has a value
  std::string error;        // the action failed and left the state as it was; empty = it did not
  bool done() const { return terminated || truncated; }
};

struct ResetOptions {
  std::string program;  // one of the environment's programs; empty = the seed chooses
};

// An episode is a function of the seed, the options and the actions (rewards measured on a clock excepted): any state is
// reached again by the same calls.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual const EnvironmentSpec& spec() const = 0;
  // Begins an episode. Throws Error for an unknown program.
  virtual Observation reset(uint64_t seed, const ResetOptions& options = {}) = 0;
  // Throws Error for an action out of range, InternalError when no episode has begun or it has ended.
  virtual Step step(int64_t action) = 0;
  // What Gymnasium calls info, of the present state; made on demand, since it may cost more than a step.
  virtual nlohmann::json info() const = 0;
  virtual std::string render() const = 0;  // for people
  // An environment in the same state that goes its own way; cheap.
  virtual std::unique_ptr<Environment> clone() const = 0;
};

}  // namespace hone::passorder
