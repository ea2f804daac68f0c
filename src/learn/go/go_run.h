// A training run of a graph policy: rounds until the iterations are done, with a log and checkpoints.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "learn/go/go_ppo.h"

namespace hone::learn {

struct GoFiles {
  std::string checkpoint;  // written every `checkpoint_every` iterations and at the end; empty = none
  int64_t checkpoint_every = 50;
  bool resume = false;  // continue from the checkpoint, if there is one
  std::string log_dir;  // TensorBoard events; empty = none
};

// A graph's best step time improved.
struct GoGain {
  int64_t problem = 0, iteration = 0, simulations = 0;  // simulations of that graph so far
  double seconds = 0, step_seconds = 0;                 // since the run began; of the plan
  double cpu_seconds = 0;                               // of the process, since the run began
};

struct GoRunReport {
  int64_t iterations = 0;  // of the whole run, before and after it was resumed
  bool interrupted = false;
  double seconds = 0;  // of this call
  std::vector<GoGain> gains;
  std::string event_file;
};

// Changes the policy and the problems' best decisions. With one thread the result is a function of the policy, the graphs,
// the options and the seed, and a run resumed from its checkpoint ends with the same bits as an uninterrupted one.
// Throws Error for a checkpoint of another run.
GoRunReport train_go(std::shared_ptr<GoPolicy> policy, std::vector<GoProblem>& problems, const GoTrainOptions& options,
                     const GoFiles& files, const std::function<bool()>& interrupted,
                     const std::function<void(int64_t iteration, const GoScalars& scalars)>& progress);

}  // namespace hone::learn
