// Advantage actor critic (Mnih et al. 2016, section 5), its synchronous form: one gradient step on each rollout.
//   loss = -mean(A log pi(a|s)) + c_v mean((V(s) - R)^2) - c_e H(pi)
#include "learn/agents/agent.h"

namespace hone::learn {

Scalars update_a2c(Learner& learner, Rollout& rollout, Rng&) {
  const options::AgentOptions& options = learner.options;
  if (options.normalize_advantage) rollout.advantages = normalized(rollout.advantages);
  const Inputs inputs = learner.model->scale->forward(rollout.observations);
  const PolicyTerms terms = evaluate(*learner.model, inputs, rollout.actions);
  const torch::Tensor policy_loss = -(rollout.advantages * terms.log_probs).mean();
  const torch::Tensor value_loss = (terms.values - rollout.returns).square().mean();
  learner.step(policy_loss + options.value_coefficient * value_loss - options.entropy * terms.entropy);
  return {{"train/policy_loss", policy_loss.item<double>()},
          {"train/value_loss", value_loss.item<double>()},
          {"train/entropy", terms.entropy.item<double>()}};
}

}  // namespace hone::learn
