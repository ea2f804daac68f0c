#include "sim/move_scorer.h"

#include <array>
#include <cmath>

#include "base/error.h"

namespace hone::sim {

namespace {

// One layer; returns where its weights end.
template <size_t kIn, size_t kOut>
const float* layer(const float* weights, const std::array<float, kIn>& in, std::array<float, kOut>& out) {
  const float* bias = weights + kIn * kOut;
  for (size_t o = 0; o < kOut; ++o) out[o] = bias[o];
  for (size_t i = 0; i < kIn; ++i)
    for (size_t o = 0; o < kOut; ++o) out[o] += in[i] * weights[i * kOut + o];
  return bias + kOut;
}

template <size_t kSize>
void rectify(std::array<float, kSize>& values) {
  for (float& value : values) value = value > 0 ? value : 0;
}

}  // namespace

MoveScorer::MoveScorer(std::vector<float> weights) : weights_(std::move(weights)) {
  if (weights_.size() != kWeights)
    throw Error("a scorer of moves has " + std::to_string(kWeights) + " weights, not " +
                std::to_string(weights_.size()));
}

MoveScorer MoveScorer::random(uint64_t seed) {
  Rng rng(seed);
  std::vector<float> weights(kWeights);
  for (float& weight : weights) weight = static_cast<float>((2 * rng.uniform() - 1) / std::sqrt(double{kHidden}));
  return MoveScorer(std::move(weights));
}

const MoveScorer& MoveScorer::shipped() {
  static const MoveScorer scorer({
#include "sim/move_weights.def"
  });
  return scorer;
}

float MoveScorer::score(const MoveVector& move) const {
  std::array<float, kHidden> first{}, second{};
  std::array<float, 1> out{};
  const float* at = layer(weights_.data(), move, first);
  rectify(first);
  at = layer(at, first, second);
  rectify(second);
  layer(at, second, out);
  return out[0];
}

}  // namespace hone::sim
