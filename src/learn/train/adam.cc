#include "learn/train/adam.h"

#include <ATen/ops/_fused_adam.h>
#include <torch/nn/utils/clip_grad.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"

namespace hone::learn {

namespace {

using torch::optim::AdamOptions;
using torch::optim::AdamParamState;

// The tensors of one step, in the same order.
struct Lists {
  std::vector<torch::Tensor> weights, gradients, first, second, steps;
};

Lists lists_of(const std::vector<torch::Tensor>& parameters, torch::optim::Optimizer& optimizer) {
  Lists lists;
  for (const torch::Tensor& parameter : parameters) {
    if (!parameter.grad().defined()) continue;
    std::unique_ptr<torch::optim::OptimizerParamState>& found = optimizer.state()[parameter.unsafeGetTensorImpl()];
    if (!found) {
      auto fresh = std::make_unique<AdamParamState>();
      fresh->step(0);
      fresh->exp_avg(torch::zeros_like(parameter));
      fresh->exp_avg_sq(torch::zeros_like(parameter));
      found = std::move(fresh);
    }
    auto& state = static_cast<AdamParamState&>(*found);
    state.step(state.step() + 1);
    lists.weights.push_back(parameter);
    lists.gradients.push_back(parameter.grad());
    lists.first.push_back(state.exp_avg());
    lists.second.push_back(state.exp_avg_sq());
    lists.steps.push_back(torch::scalar_tensor(static_cast<double>(state.step()), torch::kFloat));
  }
  return lists;
}

}  // namespace

torch::Tensor FusedAdam::step(LossClosure closure) {
  if (closure) throw InternalError("an optimiser's closure is not supported");
  const torch::NoGradGuard no_gradient;
  for (torch::optim::OptimizerParamGroup& group : param_groups()) {
    const auto& options = static_cast<const AdamOptions&>(group.options());
    if (options.amsgrad()) throw InternalError("amsgrad is not supported");
    const Lists lists = lists_of(group.params(), *this);
    if (lists.weights.empty()) continue;
    const auto [beta1, beta2] = options.betas();
    at::_fused_adam_(lists.weights, lists.gradients, lists.first, lists.second, {}, lists.steps, options.lr(), beta1,
                     beta2, options.weight_decay(), options.eps(), /*amsgrad=*/false, /*maximize=*/false);
  }
  return {};
}

void FusedAdam::clipped_step(double max_norm) {
  if (max_norm > 0) {
    std::vector<torch::Tensor> parameters;
    for (const torch::optim::OptimizerParamGroup& group : param_groups())
      parameters.insert(parameters.end(), group.params().begin(), group.params().end());
    torch::nn::utils::clip_grad_norm_(parameters, max_norm);
  }
  step();
}

}  // namespace hone::learn
