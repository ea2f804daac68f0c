// How graph policies are trained (go_ppo.h).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

namespace hone::learn {

struct GoTrainOptions {
  int64_t iterations = 200;  // episodes of all graphs together
  int64_t samples = 16;      // variants simulated in a step
  int64_t epochs = 2;        // passes over the steps of an episode
  uint64_t seed = 0;
  int threads = 1;  // more than one is not reproducible bit for bit
  double learning_rate = 2e-3, clip = 0.2, entropy = 3e-3, imitation = 0.5, clip_norm = 1.0;
  double invalid_reward = -10;
  double from_best = 0.5;  // share of episodes that begin with the best known decisions instead of the start

  void validate() const;  // throws Error that names the option
};
nlohmann::json to_json(const GoTrainOptions& options);
// Members that are left out keep their defaults; throws Error for unknown and ill-typed ones.
GoTrainOptions go_train_options_from_json(const nlohmann::json& json);

}  // namespace hone::learn
