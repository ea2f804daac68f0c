#include "learn/train/adam.h"

#include <torch/nn.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "tests/learn/torch_catch.h"

using namespace hone;
using namespace hone::learn;

namespace {

// The largest difference between weights after `steps` steps of both optimisers on the same gradients, which grow so that the
// later ones are cut off at `max_norm`. The last parameter never has a gradient.
double largest_difference(int steps, double max_norm, double weight_decay) {
  const auto options = torch::optim::AdamOptions(0.01).eps(1e-5).betas({0.8, 0.95}).weight_decay(weight_decay);
  torch::manual_seed(3);
  std::vector<torch::Tensor> expected;
  for (const auto& shape : std::vector<std::vector<int64_t>>{{37, 11}, {37}, {3, 37}, {5}})
    expected.push_back(torch::randn(shape).requires_grad_());
  std::vector<torch::Tensor> fused;
  for (const torch::Tensor& tensor : expected) fused.push_back(tensor.detach().clone().requires_grad_());
  const std::vector<torch::Tensor> begin = {expected[0].detach().clone(), expected[3].detach().clone()};
  torch::optim::Adam plain(expected, options);
  FusedAdam adam(fused, options);
  for (int step = 0; step < steps; ++step) {
    for (size_t i = 0; i + 1 < expected.size(); ++i) {
      const torch::Tensor gradient = torch::randn_like(expected[i]) * (0.001 * (step + 1));
      expected[i].mutable_grad() = gradient.clone();
      fused[i].mutable_grad() = gradient.clone();
    }
    if (max_norm > 0) torch::nn::utils::clip_grad_norm_(expected, max_norm);
    plain.step();
    adam.clipped_step(max_norm);
  }
  CHECK(!torch::equal(fused[0], begin[0]));
  CHECK(torch::equal(fused[3], begin[1]));
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    largest = std::max(largest, (expected[i] - fused[i]).abs().max().item<double>());
  return largest;
}

}  // namespace

TEST_CASE("the fused Adam steps as torch's") {
  CHECK(largest_difference(50, 0, 0) < 1e-5);
  CHECK(largest_difference(50, 0.1, 0) < 1e-5);
  CHECK(largest_difference(50, 0, 0.01) < 1e-5);
}

TEST_CASE("gradients that are no numbers reach the weights") {
  torch::Tensor weights = torch::ones({4}, torch::requires_grad());
  FusedAdam adam({weights}, torch::optim::AdamOptions(0.1));
  weights.mutable_grad() = torch::full({4}, std::numeric_limits<float>::infinity());
  adam.clipped_step(1);
  CHECK(weights.isnan().all().item<bool>());
}

TEST_CASE("the fused Adam says what it cannot do") {
  torch::Tensor weights = torch::ones({4}, torch::requires_grad());
  weights.mutable_grad() = torch::ones({4});
  FusedAdam adam({weights}, torch::optim::AdamOptions(0.1).amsgrad(true));
  CHECK_THROWS_AS(adam.step(), InternalError);
  CHECK_THROWS_AS(FusedAdam({weights}, torch::optim::AdamOptions(0.1)).step([] { return torch::zeros({}); }),
                  InternalError);
}
