// The state from which a training run is resumed: one safetensors file, replaced atomically.
#pragma once

#include <torch/optim.h>

#include <string>

#include "learn/nets/trained.h"
#include "options/train_options.h"

namespace hone::learn {

struct Progress {
  int64_t step = 0;        // steps done
  int64_t best_step = -1;  // -1 = never validated
  double best_objective = 0;
  int64_t without_better = 0;  // validations since the best
};

struct RunState {
  Trained* current;  // the network in training
  Trained* best;     // a copy of the best so far
  torch::optim::Adam* optimizer;
  Progress* progress;
};

// Adam's moments of every parameter of a module, by name.
void put_optimizer(torch::optim::Adam& optimizer, const torch::nn::Module& module, options::TensorFile& file);
// Throws Error or std::out_of_range for moments that do not fit.
void take_optimizer(const options::TensorFile& file, const torch::nn::Module& module, torch::optim::Adam& optimizer);

void save_checkpoint(const std::string& path, const options::TrainOptions& options, const RunState& state);
// False when there is no such file. Throws Error (where = path) for a damaged file and for a run with other options;
// the number of steps, patience, threads and the rendezvous may differ.
bool load_checkpoint(const std::string& path, const options::TrainOptions& options, const RunState& state);

}  // namespace hone::learn
