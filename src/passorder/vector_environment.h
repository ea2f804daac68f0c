// Several environments stepped together, each on its own thread, since an environment waits for its worker process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "passorder/environment.h"

namespace hone::passorder {

// Makes the environment of an index. Called once per index.
using EnvironmentFactory = std::function<std::unique_ptr<Environment>(int64_t index)>;

struct VectorStep {
  Step step;            // if the episode ended, its observation is the last one of it
  Observation next;     // input of the next action: the first of a new episode if the last one ended
  double return_ = 0;   // undiscounted sum of rewards if the episode ended
  int64_t length = 0;   // actions of the episode if it ended
  nlohmann::json info;  // of the last state of the episode if it ended and `last_info` was asked for
};

// The next episode begins when one ends. The seed of an episode is a function of the run's seed, the environment's index and
// the episode's number, so a restored run continues as if it had not been interrupted.
class VectorEnvironment {
 public:
  // Throws Error if count < 1, InternalError if their specs differ. If `threads` is false, they are stepped one after the
  // other.
  VectorEnvironment(int64_t count, const EnvironmentFactory& factory, uint64_t seed, bool threads);
  ~VectorEnvironment();
  const EnvironmentSpec& spec() const;
  int64_t count() const;
  // The inputs of the next actions, [count]; the first call begins the first episodes.
  const std::vector<Observation>& observations();
  // One action per environment. Throws Error for another number of actions and for one that is none, before any environment steps;
  // an exception of an environment is rethrown after all have finished.
  std::vector<VectorStep> step(std::span<const int64_t> actions, bool last_info = false);
  // Begins the first episodes of a run with another seed.
  const std::vector<Observation>& restart(uint64_t seed);
  const Environment& environment(int64_t index) const;

  uint64_t seed() const { return seed_; }  // of the run
  // The state of every environment: its episode and the actions so far.
  nlohmann::json save() const;
  // Replays them. Throws Error for a state of another number of environments or of actions that are none here, which leaves
  // everything as it was, and for episodes that are longer than those here.
  void restore(const nlohmann::json& state);
  // The same for a state of a run with another seed.
  void restore(const nlohmann::json& state, uint64_t seed);

 private:
  struct Slot;
  class Threads;
  void for_each(const std::function<void(int64_t)>& work);  // index of an environment
  Observation begin(int64_t index, int64_t episode);
  void check_actions(std::span<const int64_t> actions) const;
  void check_state(const nlohmann::json& state) const;
  uint64_t seed_;
  std::vector<Slot> slots_;
  std::vector<Observation> observations_;
  std::unique_ptr<Threads> threads_;
};

}  // namespace hone::passorder
