// A training run of an agent: rounds until the steps are done, with a log, checkpoints and a policy at the end.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "learn/agents/agent.h"
#include "learn/agents/policy_file.h"

namespace hone::learn {

struct AgentFiles {
  std::string checkpoint;  // written every `checkpoint_every` steps and at the end; empty = none
  int64_t checkpoint_every = 20000;
  bool resume = false;      // continue from the checkpoint, if there is one
  std::string log_dir;      // TensorBoard events; empty = none
  std::string begin;        // a policy to begin with, whose networks and environment must be equal; empty = none
  std::string environment;  // how the environments are made; a checkpoint with another value is refused
};

struct AgentReport {
  std::unique_ptr<Agent> agent;
  passorder::EnvironmentSpec spec;
  int64_t steps = 0, rounds = 0, episodes = 0;  // of the whole run, before and after it was resumed
  double mean_return = 0, mean_length = 0;      // of the last hundred episodes
  bool interrupted = false;
  double seconds = 0, steps_per_s = 0;  // of this call
  std::string event_file;
};

struct AgentProgress {
  int64_t steps = 0, episodes = 0;
  double mean_return = 0;  // of the last hundred episodes; 0 before the first one ends
};

// With one thread for the networks the result is a function of environments, options and seed, and a run resumed from its
// checkpoint ends with the same bits as an uninterrupted one. Rounds are always completed, so the last one may exceed
// options.steps. An interrupted round is discarded. Throws Error for options that are invalid or do not fit the
// environment, a policy that does not fit, a checkpoint of another run, and losses that are not finite.
AgentReport train_agent(const passorder::EnvironmentFactory& factory, const options::AgentOptions& options,
                        const AgentFiles& files, const std::function<bool()>& interrupted,
                        const std::function<void(const AgentProgress&)>& progress);

}  // namespace hone::learn
