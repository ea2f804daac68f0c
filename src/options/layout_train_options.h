// What a training run of a layout ranker is: a function of its data, these options and the seed. Plain data.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "options/layout_options.h"
#include "options/layout_parts.h"

namespace hone::options {

struct LayoutTrainOptions {
  LayoutModelOptions model;
  LayoutSplit split;
  std::string loss = "hinge";  // "hinge" (equation 8) or "listmle" (Xia et al. 2008)
  int64_t steps = 2000;        // of each fold; one graph and some of its configurations a step
  int64_t configs_per_step = 64;
  double learning_rate = 1e-3, weight_decay = 1e-5, warmup = 0.05,
         clip_norm = 1;               // section 2.4.2; warmup: share of steps
  int64_t train_folds = 5, keep = 4;  // the first folds are trained, the best by validation are kept
  int64_t validate_every = 200;       // steps
  int64_t patience = 0;               // validations without a better one before a fold ends; 0 = never
  int64_t validation_configs = 1000;  // of each graph, at most
  uint64_t seed = 0;
  int threads = 1;

  // Throws Error that names the option.
  void validate() const;
};

// The paper's for TGraph (arXiv 2405.16623), TpuGraphs' own for "sage" (baselines/layout of
// github.com/google-research-datasets/tpu_graphs), ours for the rest. "small" is 64 wide instead of 256, without dropout, at three times the learning rate.
LayoutTrainOptions layout_defaults(const std::string& model, bool small);

nlohmann::json to_json(const LayoutTrainOptions& options);
// Members that are left out keep their defaults; throws Error for unknown and ill-typed ones.
LayoutTrainOptions layout_train_options_from_json(const nlohmann::json& json);

}  // namespace hone::options
