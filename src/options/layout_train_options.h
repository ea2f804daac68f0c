// Options of a training run of a layout ranker, which is a function of its data, these options and the seed. Plain data.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "options/layout_options.h"
#include "options/layout_parts.h"
#include "options/option_list.h"

namespace hone::options {

struct LayoutTrainOptions {
  LayoutModelOptions model;
  LayoutSplit split;
  std::string loss = "hinge";  // "hinge" (equation 8) or "listmle" (Xia et al. 2008)
  int64_t steps = 2000;        // of each fold; a step uses one graph and some of its configurations
  int64_t configs_per_step = 64;
  double learning_rate = 1e-3, weight_decay = 1e-5, warmup = 0.05,
         clip_norm = 1;               // section 2.4.2; warmup: share of steps
  int64_t train_folds = 5, keep = 4;  // the first folds are trained; the best by validation are kept
  int64_t validate_every = 200;       // steps
  int64_t patience = 0;               // validations without improvement before a fold ends; 0 = no limit
  int64_t validation_configs = 1000;  // of each graph, at most
  uint64_t seed = 0;
  int threads = 1;

  // Throws Error that names the option.
  void validate() const;
};

// The options of the paper for TGraph (arXiv 2405.16623), of TpuGraphs for "sage" (baselines/layout of
// github.com/google-research-datasets/tpu_graphs), Hone's own for the others. "small" is 64 wide instead of 256,
// without dropout, at three times the learning rate.
LayoutTrainOptions layout_defaults(const std::string& model, bool small);

// Without the members of the model and of the split, which have their own lists.
template <class Visit>
void for_each_option(ListOf<LayoutTrainOptions>, Visit&& visit) {
  using O = LayoutTrainOptions;
  visit({"loss", "loss function: hinge or listmle (default hinge; sage: listmle)"}, &O::loss);
  visit({"steps", "training steps of each fold"}, &O::steps);
  visit({"configs_per_step",
         "configurations of one training step (default 64; the paper: 64 for default and 128 for random layouts; sage: "
         "16)",
         "--configs"},
        &O::configs_per_step);
  visit({"learning_rate",
         "highest learning rate of AdamW (default 0.003; with --preset paper and sage 0.001, linear 0.01)"},
        &O::learning_rate);
  visit({"weight_decay", "weight decay of everything but biases (default 1e-05; sage: 0)"}, &O::weight_decay);
  visit({"warmup", "share of the steps over which the learning rate rises"}, &O::warmup);
  visit({"clip_norm", "largest norm of all gradients together, 0 = no clipping (default 1; sage: 0.01)"},
        &O::clip_norm);
  visit({"train_folds", "number of folds that are trained, from the first on"}, &O::train_folds);
  visit({"keep", "networks in the ensemble: the best by validation"}, &O::keep);
  visit({"validate_every", "steps between validations"}, &O::validate_every);
  visit({"patience", "validations without a better one before a fold ends, 0 = never end early"}, &O::patience);
  visit({"validation_configs", "most configurations of each graph in a validation"}, &O::validation_configs);
  visit({"seed", "seed for weights, batches and dropout"}, &O::seed);
  visit({"threads", "threads of the network"}, &O::threads);
}

nlohmann::json to_json(const LayoutTrainOptions& options);
// Missing members keep their defaults; throws Error for unknown and ill-typed ones.
LayoutTrainOptions layout_train_options_from_json(const nlohmann::json& json);

}  // namespace hone::options
