// What on-policy agents share: collect a rollout, update, then let the input statistics see it.
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "learn/agents/agent.h"
#include "learn/train/checkpoint.h"
#include "learn/train/sampler.h"

namespace hone::learn {

namespace {

enum Stream : uint64_t { kActing = 11, kLearning = 12 };
constexpr int64_t kValueRounds = 3;  // of a run that begins with a policy, before that changes

Update update_of(const std::string& agent) {
  if (agent == "reinforce") return update_reinforce;
  if (agent == "a2c") return update_a2c;
  if (agent == "ppo") return update_ppo;
  if (agent == "trpo") return update_trpo;
  throw InternalError("not an on-policy agent: " + agent);
}

class OnPolicyAgent : public Agent {
 public:
  OnPolicyAgent(const options::AgentOptions& options, const passorder::EnvironmentSpec& spec)
      : update_(update_of(options.agent)), learner_(options, spec) {}

  std::optional<Round> round(passorder::VectorEnvironment& environments, const RunPlace& place,
                             const std::function<bool()>& interrupted) override {
    const options::AgentOptions& options = learner_.options;
    Rng acting(mix_seed(options.seed, kActing, place.rounds));
    Rng learning(mix_seed(options.seed, kLearning, place.rounds));
    auto rollout = collect(environments, *learner_.model, options, acting, interrupted);
    if (!rollout) return std::nullopt;
    Round done{rollout->rows(), rollout->episodes, {}};
    const double explained = explained_variance(rollout->values, rollout->returns);
    if (given_ && place.rounds < kValueRounds)
      done.scalars = {{"train/value_loss", fit_values(learner_, *rollout, learning)}};
    else
      done.scalars = update_(learner_, *rollout, learning);
    done.scalars.emplace_back("train/explained_variance", explained);
    // After the update: until then the stored probabilities must be those of the policy that acted.
    if (!given_) learner_.model->scale->update(rollout->observations);
    return done;
  }

  void save(options::TensorFile& file) const override {
    put_module(*learner_.model, "model.", file);
    put_optimizer(*learner_.optimizer, *learner_.model, file);
  }
  void restore(const options::TensorFile& file) override {
    take_module(file, "model.", *learner_.model);
    take_optimizer(file, *learner_.model, *learner_.optimizer);
  }
  void begin_with(const options::TensorFile& policy) override {
    take_module(policy, "scale.", *learner_.model->scale);
    take_module(policy, "policy.", *learner_.model->policy);
    given_ = true;
  }
  void save_policy(options::TensorFile& file) const override {
    put_module(*learner_.model->scale, "scale.", file);
    put_module(*learner_.model->policy, "policy.", file);
  }

 private:
  Update update_;
  Learner learner_;
  bool given_ = false;  // it began with a policy
};

}  // namespace

Learner::Learner(const options::AgentOptions& o, const passorder::EnvironmentSpec& spec)
    : options(o), model(std::make_shared<ActorCritic>(o, spec)) {
  // Adam's epsilon as in the implementations of PPO that were compared (Huang et al. 2022, "37 details").
  optimizer = std::make_unique<FusedAdam>(model->parameters(), torch::optim::AdamOptions(o.learning_rate).eps(1e-5));
}

void Learner::step(const torch::Tensor& loss) {
  optimizer->zero_grad();
  loss.backward();
  if (!std::isfinite(loss.item<double>())) throw Error("the loss is not finite", "", "lower --learning-rate");
  optimizer->clipped_step(options.clip_norm);
}

PolicyTerms evaluate(ActorCritic& model, const Inputs& inputs, const torch::Tensor& actions) {
  const torch::Tensor log_p = model.log_probabilities(inputs);  // [rows, actions]
  return {log_p.gather(1, actions.unsqueeze(1)).squeeze(1), -(log_p.exp() * log_p).sum(1).mean(), model.value(inputs)};
}

double fit_values(Learner& learner, const Rollout& rollout, Rng& rng) {
  const options::AgentOptions& options = learner.options;
  double sum = 0, count = 0;
  for (int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    const torch::Tensor order = shuffled(rollout.rows(), rng);
    for (int64_t first = 0; first < rollout.rows(); first += options.batch) {
      const torch::Tensor index = order.narrow(0, first, std::min(options.batch, rollout.rows() - first));
      const Inputs inputs = learner.model->scale->forward(rollout.observations.select(index));
      const torch::Tensor loss =
          (learner.model->value(inputs) - rollout.returns.index_select(0, index)).square().mean();
      learner.step(loss);  // the policy has no gradient, so its parameters stay
      sum += loss.item<double>();
      ++count;
    }
  }
  return sum / count;
}

torch::Tensor normalized(const torch::Tensor& advantages) {
  if (advantages.numel() < 2) return advantages;
  return (advantages - advantages.mean()) / (advantages.std() + 1e-8);
}

torch::Tensor shuffled(int64_t rows, Rng& rng) {
  torch::Tensor order = torch::arange(rows, torch::kLong);
  int64_t* p = order.data_ptr<int64_t>();
  for (int64_t i = rows - 1; i > 0; --i) std::swap(p[i], p[rng.below(i + 1)]);
  return order;
}

double explained_variance(const torch::Tensor& values, const torch::Tensor& returns) {
  if (returns.numel() < 2) return 0;
  const double variance = returns.var().item<double>();
  return variance > 0 ? 1 - (returns - values).var().item<double>() / variance : 0;
}

void require_fit(const options::AgentOptions& options, const passorder::EnvironmentSpec& spec) {
  options.validate();
  if (options.policy == "gnn" && spec.node_width == 0)
    throw Error("the environment provides no graph observation", spec.id, "--network mlp");
  if (options.policy == "mlp" && spec.observation_width == 0)
    throw Error("the environment provides no vector observation", spec.id, "--network gnn");
  if (spec.actions < 1) throw Error("the environment has no actions", spec.id);
}

std::unique_ptr<Agent> make_on_policy(const options::AgentOptions& options, const passorder::EnvironmentSpec& spec) {
  return std::make_unique<OnPolicyAgent>(options, spec);
}

std::unique_ptr<Agent> make_agent(const options::AgentOptions& options, const passorder::EnvironmentSpec& spec) {
  require_fit(options, spec);
  return options.agent == "dqn" ? make_dqn(options, spec) : make_on_policy(options, spec);
}

}  // namespace hone::learn
