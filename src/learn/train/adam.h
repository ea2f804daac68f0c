// Adam (Kingma and Ba 2015) by torch's fused kernel: one pass over weights, gradients and moments in place of one for each
// operation.
#pragma once

#include <torch/optim.h>

namespace hone::learn {

// torch::optim::Adam with the same state and, up to rounding, the same steps.
class FusedAdam : public torch::optim::Adam {
 public:
  using torch::optim::Adam::Adam;
  // Throws InternalError for options that nothing here uses: amsgrad, a closure.
  torch::Tensor step(LossClosure closure = nullptr) override;
  // A step after torch::nn::utils::clip_grad_norm_ of all parameters; max_norm 0 = no limit.
  void clipped_step(double max_norm);
};

}  // namespace hone::learn
