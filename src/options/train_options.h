// Options of a training run, which is a function of its data, these options and the seed. Plain data, JSON for the learning
// library and checkpoints.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "options/model_options.h"
#include "options/option_list.h"

namespace hone::options {

struct TrainOptions {
  std::string task = "tile";  // "tile": rank options of a kernel; "fusion": run times of kernels
  ModelOptions model;
  // "rank-hinge", "rank-logistic", "rank-weighted", "ratio", "mse" (learn/nets/losses.h); empty = rank-hinge for tile, mse for
  // fusion.
  std::string loss;
  int64_t steps = 20000;
  uint64_t seed = 0;
  double learning_rate = 1e-3;
  double decay = 1;  // factor of the learning rate every `decay_steps` steps
  int64_t decay_steps = 1000;
  double clip_norm = 1;              // norm of all gradients; 0 = no clipping
  int64_t kernels_per_step = 0;      // 0 = 8 for tile, 64 for fusion
  int64_t options_per_kernel = 32;   // at most, drawn again in every step
  std::string balance = "program";   // draw evenly from each "program", "family" or "kernel"
  int64_t validate_every = 500;      // steps
  int64_t patience = 20;             // validations without improvement before training ends; 0 = no limit
  int64_t validation_kernels = 400;  // at most, spread evenly over the validation part
  int64_t validation_options = 128;  // at most, of one kernel
  double min_runtime_ns = 5000;      // fusion metrics count kernels at least this long
  int threads = 1;
  int64_t processes = 1, rank = 0;  // data-parallel training: gradients are averaged over processes
  std::string rendezvous;           // a file by which the processes find each other

  bool ranks() const { return loss != "mse"; }
  // Sets the defaults that depend on the task. Throws Error that names the option.
  void settle();
};

// Without the members of the model, which have their own list.
template <class Visit>
void for_each_option(ListOf<TrainOptions>, Visit&& visit) {
  using O = TrainOptions;
  visit({"task"}, &O::task);
  visit({"loss",
         "loss function: rank-hinge, rank-logistic, rank-weighted (hinge, pairs count by their ratio), ratio (of run "
         "times) "
         "or mse (default: the paper's for the model)"},
        &O::loss);
  visit({"steps", "most training steps"}, &O::steps);
  visit({"seed", "seed for weights, batches and dropout"}, &O::seed);
  visit({"learning_rate", "learning rate of Adam (default: the paper's for the model)"}, &O::learning_rate);
  visit({"decay", "factor of the learning rate every --decay-steps (default: the paper's for the model)"}, &O::decay);
  visit({"decay_steps", "steps between decays of the learning rate"}, &O::decay_steps);
  visit({"clip_norm",
         "largest norm of all gradients together, 0 = no clipping (default: 1 or 0, the paper's for the model)"},
        &O::clip_norm);
  visit({"kernels_per_step", "kernels of one training step (default: tile 8, fusion 64)"}, &O::kernels_per_step);
  visit({"options_per_kernel", "most options of each kernel in a training step"}, &O::options_per_kernel);
  visit({"balance", "draw evenly from each program, family or kernel"}, &O::balance);
  visit({"validate_every", "steps between validations"}, &O::validate_every);
  visit({"patience", "validations without a better one before training ends, 0 = never end early"}, &O::patience);
  visit({"validation_kernels", "most kernels in a validation"}, &O::validation_kernels);
  visit({"validation_options", "most options of each kernel in a validation"}, &O::validation_options);
  visit({"min_runtime_ns"}, &O::min_runtime_ns);
  visit({"threads", "threads of one process"}, &O::threads);
  visit({"processes", "processes on this machine that train together, their gradients averaged"}, &O::processes);
  visit({"rank", ""}, &O::rank);  // of a process started by another one
  visit({"rendezvous", ""}, &O::rendezvous);
}

nlohmann::json to_json(const TrainOptions& options);
// Missing members keep their defaults; throws Error for unknown and ill-typed ones.
TrainOptions train_options_from_json(const nlohmann::json& json);

// The tuned hyperparameters of Kaufman et al. 2021, Table 6 (tile) and 7 (fusion), for one of its twelve models, and Hone's
// own for late-fusion and GIN. The paper does not specify the norm at which gradients are clipped, nor how often the rate
// decays.
TrainOptions paper_options(const std::string& task, const std::string& model);

}  // namespace hone::options
