// The parts of a trust-region step (Schulman et al. 2015, appendix C).
#pragma once

#include <torch/types.h>

#include <functional>
#include <vector>

namespace hone::learn {

// Concatenates tensors into one vector; an undefined tensor (no gradient) counts as zeros of its parameter's size.
torch::Tensor flatten(const std::vector<torch::Tensor>& tensors, const std::vector<torch::Tensor>& parameters);
// Writes one vector back into parameters.
void assign(const torch::Tensor& flat, const std::vector<torch::Tensor>& parameters);

// Mean over rows of KL(old || new) of two tables of log-probabilities, [rows, actions].
torch::Tensor mean_kl(const torch::Tensor& old_log_p, const torch::Tensor& new_log_p);

// The product of the Hessian of `kl` (a scalar with a graph, at its minimum: there the Hessian is the Fisher matrix) and a
// vector, plus damping times the vector.
class FisherProduct {
 public:
  FisherProduct(const torch::Tensor& kl, std::vector<torch::Tensor> parameters, double damping);
  torch::Tensor operator()(const torch::Tensor& v) const;

 private:
  std::vector<torch::Tensor> parameters_;
  torch::Tensor gradient_;  // of kl, itself differentiable
  double damping_;
};

// x with product(x) = b, for a symmetric positive definite product, in at most `steps` steps (Hestenes and Stiefel 1952).
torch::Tensor conjugate_gradient(const std::function<torch::Tensor(const torch::Tensor&)>& product,
                                 const torch::Tensor& b, int64_t steps, double tolerance = 1e-10);

// The longest step along `direction` on the quadratic model of KL: sqrt(2 max_kl / (d' F d)). 0 when that is not finite.
double longest_step(const torch::Tensor& direction, const torch::Tensor& fisher_times_direction, double max_kl);

struct Trial {
  double objective = 0, kl = 0;
};
struct LineSearchResult {
  bool accepted = false;
  int64_t tries = 0;
  Trial trial;  // of the accepted step
};
// Tries parameters + shrink^i * step for i = 0, 1, ...; takes the first with a better objective than `objective` and a KL
// of at most max_kl. If none qualifies, the parameters are unchanged.
LineSearchResult line_search(const std::vector<torch::Tensor>& parameters, const torch::Tensor& step, double objective,
                             double max_kl, double shrink, int64_t tries, const std::function<Trial()>& measure);

}  // namespace hone::learn
