// A small network that says which of several moves of a plan to simulate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/move_features.h"

namespace hone::sim {

// Two hidden layers of kMoveFeatures -> kHidden -> kHidden -> 1 with ReLU; higher is better.
class MoveScorer {
 public:
  static constexpr int kHidden = 24;
  static constexpr size_t kWeights =
      static_cast<size_t>(kMoveFeatures) * kHidden + kHidden + kHidden * kHidden + kHidden + kHidden + 1;

  // Layers in order: [inputs][outputs] of each, then its biases. Throws Error for another number of weights.
  explicit MoveScorer(std::vector<float> weights);
  static MoveScorer random(uint64_t seed);  // the control: weights as before training
  static const MoveScorer& shipped();       // move_weights.def

  float score(const MoveVector& move) const;

 private:
  std::vector<float> weights_;
};

}  // namespace hone::sim
