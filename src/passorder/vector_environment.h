// Several environments stepped together, each on a thread of its own: an environment waits for its worker process.
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
  Step step;           // its observation is the last one of the episode where that ended
  Observation next;    // what the next action answers: the first of a new episode where the last one ended
  double return_ = 0;  // undiscounted sum of rewards, where the episode ended
  int64_t length = 0;  // actions of the episode, where it ended
};

// Episodes follow each other: where one ends the next begins. The seed of an episode is a function of the run's seed, the
// environment's index and the episode's number, so a saved run goes on as if it had not been cut off.
class VectorEnvironment {
 public:
  // Throws Error when there is none, InternalError when their specs differ. With `threads` false one after the other.
  VectorEnvironment(int64_t count, const EnvironmentFactory& factory, uint64_t seed, bool threads);
  ~VectorEnvironment();
  const EnvironmentSpec& spec() const;
  int64_t count() const;
  // What the next actions answer, [count]; the first call begins the first episodes.
  const std::vector<Observation>& observations();
  // One action per environment. An exception of one is thrown after all have been waited for.
  std::vector<VectorStep> step(std::span<const int64_t> actions);

  // Where every environment stands: its episode and the actions so far.
  nlohmann::json save() const;
  // Replays them. Throws Error for a state of another number of environments.
  void restore(const nlohmann::json& state);

 private:
  struct Slot;
  class Threads;
  void for_each(const std::function<void(int64_t)>& work);  // index of an environment
  Observation begin(int64_t index, int64_t episode);
  uint64_t seed_;
  std::vector<Slot> slots_;
  std::vector<Observation> observations_;
  std::unique_ptr<Threads> threads_;
};

}  // namespace hone::passorder
