// Supervised training of a network.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cost/evaluation.h"
#include "learn/nets/trained.h"
#include "options/train_options.h"

namespace hone::learn {

struct TrainFiles {
  std::string checkpoint;  // written every `checkpoint_every` steps and at the end; empty = none
  int64_t checkpoint_every = 1000;
  bool resume = false;  // continue from the checkpoint, if there is one
  std::string log_dir;  // TensorBoard events; empty = none
  std::string command;  // recorded in the weights
};

struct TrainReport {
  Trained best;                 // the network of the best validation
  cost::Evaluation validation;  // its metrics
  int64_t steps = 0, best_step = 0;
  double best_objective = 0;
  bool stopped_early = false, interrupted = false;
  double seconds = 0, samples_per_s = 0;  // of this call; the rate excludes validation
  std::string event_file;
};

// Averages gradients over the processes of a data-parallel run.
class GradientExchange {
 public:
  virtual ~GradientExchange() = default;
  virtual void average(std::vector<torch::Tensor>& tensors) = 0;  // in place; all processes call it in the same order
};
std::unique_ptr<GradientExchange> make_gloo_exchange(const options::TrainOptions& options);  // null for one process

// Trains until the steps are done, validation has not improved for `patience` times, or `interrupted` returns true.
// Returns the best network so far (validated now if it never was). With one thread the result is a function of data and
// options: a run resumed from its checkpoint ends with the same bits. Throws Error for empty parts, a checkpoint of
// other options, and a loss that is not finite (with the step).
TrainReport train(const std::vector<KernelView>& training, const std::vector<KernelView>& validation,
                  options::TrainOptions options, const TrainFiles& files, const std::function<bool()>& interrupted,
                  const std::function<void(int64_t step, double loss, double best)>& progress);

}  // namespace hone::learn
