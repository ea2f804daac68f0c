// Proximal policy optimisation (Schulman et al. 2017, equations 7 and 9): several epochs of minibatches on each rollout,
// with the probability ratio r = pi(a|s) / pi_old(a|s) clipped.
//   loss = -mean(min(r A, clip(r, 1 - c, 1 + c) A)) + c_v mean((V(s) - R)^2) - c_e H(pi)
// With one epoch, one batch and no clipping the gradient is A2C's, since r = 1 (Huang et al. 2022).
#include "learn/agents/agent.h"

namespace hone::learn {

namespace {

struct PpoSums {
  double policy = 0, value = 0, entropy = 0, kl = 0, clipped = 0, count = 0;
};

void step_on_batch(Learner& learner, const Rollout& rollout, const torch::Tensor& index, PpoSums& sums) {
  const options::AgentOptions& options = learner.options;
  const Inputs inputs = learner.model->scale->forward(rollout.observations.select(index));
  const PolicyTerms terms = evaluate(*learner.model, inputs, rollout.actions.index_select(0, index));
  torch::Tensor advantages = rollout.advantages.index_select(0, index);
  if (options.normalize_advantage) advantages = normalized(advantages);
  const torch::Tensor log_ratio = terms.log_probs - rollout.log_probs.index_select(0, index), ratio = log_ratio.exp();
  torch::Tensor gain = ratio * advantages;  // [rows]
  if (options.clip > 0)
    gain = torch::minimum(gain, torch::clamp(ratio, 1 - options.clip, 1 + options.clip) * advantages);
  const torch::Tensor policy_loss = -gain.mean();
  const torch::Tensor value_loss = (terms.values - rollout.returns.index_select(0, index)).square().mean();
  learner.step(policy_loss + options.value_coefficient * value_loss - options.entropy * terms.entropy);
  const torch::NoGradGuard no_gradient;
  sums.policy += policy_loss.item<double>();
  sums.value += value_loss.item<double>();
  sums.entropy += terms.entropy.item<double>();
  sums.kl += (ratio - 1 - log_ratio).mean().item<double>();  // an estimate of KL(old || new) that is never negative
  if (options.clip > 0) sums.clipped += ((ratio - 1).abs() > options.clip).to(torch::kFloat).mean().item<double>();
  ++sums.count;
}

}  // namespace

Scalars update_ppo(Learner& learner, Rollout& rollout, Rng& rng) {
  const options::AgentOptions& options = learner.options;
  PpoSums sums;
  for (int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    const torch::Tensor order = shuffled(rollout.rows(), rng);
    for (int64_t first = 0; first < rollout.rows(); first += options.batch)
      step_on_batch(learner, rollout, order.narrow(0, first, std::min(options.batch, rollout.rows() - first)), sums);
  }
  return {{"train/policy_loss", sums.policy / sums.count},
          {"train/value_loss", sums.value / sums.count},
          {"train/entropy", sums.entropy / sums.count},
          {"train/approximate_kl", sums.kl / sums.count},
          {"train/clip_share", sums.clipped / sums.count}};
}

}  // namespace hone::learn
