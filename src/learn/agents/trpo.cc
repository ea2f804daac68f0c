// Trust region policy optimisation (Schulman et al. 2015): the natural gradient by conjugate gradients on Fisher-vector
// products, scaled to a mean KL of max_kl, then shortened until the objective improves and the measured KL is within
// it.
#include "learn/agents/trpo.h"

#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "base/error.h"
#include "learn/agents/agent.h"

namespace hone::learn {

torch::Tensor flatten(const std::vector<torch::Tensor>& tensors, const std::vector<torch::Tensor>& parameters) {
  std::vector<torch::Tensor> parts;
  for (size_t i = 0; i < parameters.size(); ++i)
    parts.push_back(tensors[i].defined() ? tensors[i].reshape({-1}) : torch::zeros({parameters[i].numel()}));
  return torch::cat(parts);
}

void assign(const torch::Tensor& flat, const std::vector<torch::Tensor>& parameters) {
  const torch::NoGradGuard no_gradient;
  int64_t first = 0;
  for (torch::Tensor parameter : parameters) {
    parameter.copy_(flat.narrow(0, first, parameter.numel()).view_as(parameter));
    first += parameter.numel();
  }
  if (first != flat.numel()) throw InternalError("assign: wrong number of elements");
}

torch::Tensor mean_kl(const torch::Tensor& old_log_p, const torch::Tensor& new_log_p) {
  return (old_log_p.exp() * (old_log_p - new_log_p)).sum(1).mean();
}

FisherProduct::FisherProduct(const torch::Tensor& kl, std::vector<torch::Tensor> parameters, double damping)
    : parameters_(std::move(parameters)),
      gradient_(flatten(torch::autograd::grad({kl}, parameters_, {}, /*retain_graph=*/true, /*create_graph=*/true,
                                              /*allow_unused=*/true),
                        parameters_)),
      damping_(damping) {}

torch::Tensor FisherProduct::operator()(const torch::Tensor& v) const {
  const auto rows = torch::autograd::grad({gradient_.dot(v)}, parameters_, {}, /*retain_graph=*/true,
                                          /*create_graph=*/false, /*allow_unused=*/true);
  return flatten(rows, parameters_).detach() + damping_ * v;
}

torch::Tensor conjugate_gradient(const std::function<torch::Tensor(const torch::Tensor&)>& product,
                                 const torch::Tensor& b, int64_t steps, double tolerance) {
  torch::Tensor x = torch::zeros_like(b), residual = b.clone(), direction = b.clone();
  double length = residual.dot(residual).item<double>();
  for (int64_t i = 0; i < steps && length > tolerance; ++i) {
    const torch::Tensor along = product(direction);
    const double alpha = length / direction.dot(along).item<double>();
    x += alpha * direction;
    residual -= alpha * along;
    const double next = residual.dot(residual).item<double>();
    direction = residual + (next / length) * direction;
    length = next;
  }
  return x;
}

double longest_step(const torch::Tensor& direction, const torch::Tensor& fisher_times_direction, double max_kl) {
  const double curvature = direction.dot(fisher_times_direction).item<double>();
  const double longest = curvature > 0 ? std::sqrt(2 * max_kl / curvature) : 0;
  return std::isfinite(longest) ? longest : 0;
}

LineSearchResult line_search(const std::vector<torch::Tensor>& parameters, const torch::Tensor& step, double objective,
                             double max_kl, double shrink, int64_t tries, const std::function<Trial()>& measure) {
  const torch::Tensor start = flatten(parameters, parameters).detach().clone();
  LineSearchResult result;
  for (double share = 1; result.tries < tries; share *= shrink) {
    ++result.tries;
    assign(start + share * step, parameters);
    result.trial = measure();
    if (result.trial.objective > objective && result.trial.kl <= max_kl) {
      result.accepted = true;
      return result;
    }
  }
  assign(start, parameters);
  result.trial = {objective, 0};
  return result;
}

namespace {

// The policy's part of the update.
Scalars trust_region_step(Learner& learner, const Rollout& rollout, const torch::Tensor& advantages) {
  const options::AgentOptions& options = learner.options;
  const std::vector<torch::Tensor> parameters = learner.model->policy->parameters();
  const Inputs inputs = learner.model->scale->forward(rollout.observations);
  const torch::Tensor log_p = learner.model->log_probabilities(inputs), old_log_p = log_p.detach();  // [rows, actions]
  const torch::Tensor actions = rollout.actions.unsqueeze(1), old_taken = old_log_p.gather(1, actions).squeeze(1);
  const auto objective_of = [&](const torch::Tensor& p) {
    const torch::Tensor ratio = (p.gather(1, actions).squeeze(1) - old_taken).exp();
    return (ratio * advantages).mean() - options.entropy * (p.exp() * p).sum(1).mean();
  };
  const torch::Tensor objective = objective_of(log_p);
  const torch::Tensor gradient =
      flatten(torch::autograd::grad({objective}, parameters, {}, true, false, true), parameters).detach();
  const double entropy = -(old_log_p.exp() * old_log_p).sum(1).mean().item<double>();
  const FisherProduct fisher(mean_kl(old_log_p, log_p), parameters, options.damping);
  const torch::Tensor direction = conjugate_gradient(fisher, gradient, options.conjugate_steps);
  const double length = longest_step(direction, fisher(direction), options.max_kl);
  const auto measure = [&] {
    const torch::NoGradGuard no_gradient;
    const torch::Tensor now = learner.model->log_probabilities(inputs);
    return Trial{objective_of(now).item<double>(), mean_kl(old_log_p, now).item<double>()};
  };
  const LineSearchResult found = line_search(parameters, length * direction, objective.item<double>(), options.max_kl,
                                             options.shrink, options.line_search_steps, measure);
  return {{"train/objective_gain", found.trial.objective - objective.item<double>()},
          {"train/kl", found.trial.kl},
          {"train/line_search_tries", static_cast<double>(found.tries)},
          {"train/step_accepted", found.accepted ? 1.0 : 0.0},
          {"train/entropy", entropy}};
}

}  // namespace

Scalars update_trpo(Learner& learner, Rollout& rollout, Rng& rng) {
  if (learner.options.normalize_advantage) rollout.advantages = normalized(rollout.advantages);
  learner.optimizer->zero_grad();
  Scalars scalars = trust_region_step(learner, rollout, rollout.advantages);
  scalars.emplace_back("train/value_loss", fit_values(learner, rollout, rng));
  return scalars;
}

}  // namespace hone::learn
