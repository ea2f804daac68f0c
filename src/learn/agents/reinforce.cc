// REINFORCE with a baseline (Williams 1992; Sutton and Barto 2018, section 13.4): one gradient step of the policy on each
// rollout, after which the baseline, the value function, is fitted to the returns.
//   loss = -mean(A log pi(a|s)) - c_e H(pi),  A = G - V(s)
// G is the discounted sum of the rewards to the end of the episode, because lambda is 1.
#include "learn/agents/agent.h"

namespace hone::learn {

Scalars update_reinforce(Learner& learner, Rollout& rollout, Rng& rng) {
  const options::AgentOptions& options = learner.options;
  if (options.normalize_advantage) rollout.advantages = normalized(rollout.advantages);
  const Inputs inputs = learner.model->scale->forward(rollout.observations);
  const PolicyTerms terms = evaluate(*learner.model, inputs, rollout.actions);
  const torch::Tensor policy_loss = -(rollout.advantages * terms.log_probs).mean();
  learner.step(policy_loss - options.entropy * terms.entropy);  // the value function has no gradient, so it stays
  const double value_loss = fit_values(learner, rollout, rng);
  return {{"train/policy_loss", policy_loss.item<double>()},
          {"train/value_loss", value_loss},
          {"train/entropy", terms.entropy.item<double>()}};
}

}  // namespace hone::learn
