// Options of the training of a graph policy (learn/go/go_ppo.h): plain data without torch.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "options/option_list.h"

namespace hone::options {

struct GoTrainOptions {
  int64_t iterations = 200;  // episodes of all graphs together
  int64_t samples = 16;      // variants simulated per step
  int64_t epochs = 2;        // passes over the steps of an episode
  uint64_t seed = 0;
  int threads = 1;  // results are bit-identical with one only
  double learning_rate = 2e-3, clip = 0.2, entropy = 3e-3, imitation = 0.5, clip_norm = 1.0;
  double invalid_reward = -10;
  double from_best = 0.5;  // share of episodes that start from the best known decisions

  void validate() const;  // throws Error that names the option
};

template <class Visit>
void for_each_option(ListOf<GoTrainOptions>, Visit&& visit) {
  using O = GoTrainOptions;
  visit({"iterations", "episodes of all graphs together"}, &O::iterations);
  visit({"samples", "variants simulated in every step of training", "--train-samples"}, &O::samples);
  visit({"epochs", "passes over the steps of an episode"}, &O::epochs);
  visit({"seed", "seed for weights and draws"}, &O::seed);
  visit({"threads", "threads of the networks; with more than one, runs differ in the last bits"}, &O::threads);
  visit({"learning_rate", "learning rate of Adam"}, &O::learning_rate);
  visit({"clip"}, &O::clip);
  visit({"entropy", "coefficient of the entropy bonus"}, &O::entropy);
  visit({"imitation", "coefficient of imitating the best known plan"}, &O::imitation);
  visit({"clip_norm"}, &O::clip_norm);
  visit({"invalid_reward"}, &O::invalid_reward);
  visit({"from_best", "share of episodes that begin with the best known plan"}, &O::from_best);
}

nlohmann::json to_json(const GoTrainOptions& options);
// Missing members keep their defaults; throws Error for unknown and ill-typed ones.
GoTrainOptions go_train_options_from_json(const nlohmann::json& json);

}  // namespace hone::options
