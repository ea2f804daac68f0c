// Deep Q-learning (Mnih et al. 2015): a replay memory, a target network copied at intervals, and the target of double
// Q-learning (van Hasselt et al. 2016).
#include "learn/agents/dqn.h"

#include <cmath>

#include "base/error.h"
#include "learn/agents/agent.h"
#include "learn/nets/trained.h"
#include "learn/train/adam.h"
#include "learn/train/checkpoint.h"
#include "learn/train/sampler.h"

namespace hone::learn {

namespace {

enum DqnStream : uint64_t { kExploring = 21, kReplaying = 22 };

template <class T>
torch::Tensor rows_of(const std::vector<T>& values, int64_t width) {
  const auto type = std::is_same_v<T, float> ? torch::kFloat : torch::kLong;
  const int64_t rows = static_cast<int64_t>(values.size()) / width;
  return torch::from_blob(const_cast<T*>(values.data()), {rows, width}, type);  // only read
}

template <class T>
void take_rows(const options::TensorFile& file, const std::string& name, std::vector<T>& values) {
  const options::StoredTensor& stored = file.tensors.at(name);
  values.resize(stored.bytes.size() / sizeof(T));
  std::memcpy(values.data(), stored.bytes.data(), stored.bytes.size());
}

}  // namespace

Replay::Replay(int64_t capacity, int64_t width) : capacity_(capacity), width_(width) {}

void Replay::add(std::span<const float> before, int64_t action, double reward, std::span<const float> after,
                 bool terminated) {
  if (static_cast<int64_t>(before.size()) != width_ || static_cast<int64_t>(after.size()) != width_)
    throw InternalError("an observation has the wrong width");
  if (size() < capacity_) {
    before_.insert(before_.end(), before.begin(), before.end());
    after_.insert(after_.end(), after.begin(), after.end());
    actions_.push_back(action);
    rewards_.push_back(static_cast<float>(reward));
    terminated_.push_back(terminated ? 1.0f : 0.0f);
    return;
  }
  std::copy(before.begin(), before.end(), before_.begin() + next_ * width_);
  std::copy(after.begin(), after.end(), after_.begin() + next_ * width_);
  actions_[next_] = action;
  rewards_[next_] = static_cast<float>(reward);
  terminated_[next_] = terminated ? 1.0f : 0.0f;
  next_ = (next_ + 1) % capacity_;
}

Replay::Batch Replay::sample(int64_t rows, Rng& rng) const {
  if (size() == 0) throw InternalError("cannot sample from an empty replay memory");
  torch::Tensor index = torch::empty({rows}, torch::kLong);
  for (int64_t i = 0; i < rows; ++i) index.data_ptr<int64_t>()[i] = rng.below(size());
  return {rows_of(before_, width_).index_select(0, index), rows_of(after_, width_).index_select(0, index),
          rows_of(actions_, 1).index_select(0, index).squeeze(1),
          rows_of(rewards_, 1).index_select(0, index).squeeze(1),
          rows_of(terminated_, 1).index_select(0, index).squeeze(1)};
}

torch::Tensor Replay::observations() const { return rows_of(before_, width_).clone(); }

void Replay::save(options::TensorFile& file) const {
  file.tensors["replay.before"] = to_stored(rows_of(before_, width_));
  file.tensors["replay.after"] = to_stored(rows_of(after_, width_));
  file.tensors["replay.actions"] = to_stored(rows_of(actions_, 1));
  file.tensors["replay.rewards"] = to_stored(rows_of(rewards_, 1));
  file.tensors["replay.terminated"] = to_stored(rows_of(terminated_, 1));
  file.tensors["replay.next"] = to_stored(torch::tensor({next_}, torch::kLong));
}

void Replay::restore(const options::TensorFile& file) {
  take_rows(file, "replay.before", before_);
  take_rows(file, "replay.after", after_);
  take_rows(file, "replay.actions", actions_);
  take_rows(file, "replay.rewards", rewards_);
  take_rows(file, "replay.terminated", terminated_);
  std::vector<int64_t> next;
  take_rows(file, "replay.next", next);
  const size_t rows = actions_.size();
  if (next.size() != 1 || next[0] < 0 || next[0] >= capacity_ || size() > capacity_ || rewards_.size() != rows ||
      terminated_.size() != rows || before_.size() != rows * width_ || after_.size() != rows * width_)
    throw Error("the replay memory does not fit the options");
  next_ = next[0];
}

torch::Tensor q_target(const Replay::Batch& batch, const torch::Tensor& online_next, const torch::Tensor& target_next,
                       double discount, bool double_q) {
  const torch::Tensor best = (double_q ? online_next : target_next).argmax(1, /*keepdim=*/true);  // [rows, 1]
  return batch.rewards + discount * (1 - batch.terminated) * target_next.gather(1, best).squeeze(1);
}

double exploration(int64_t step, int64_t steps, double share, double end) {
  const double over = share * static_cast<double>(steps);
  const double done = over > 0 ? std::min(1.0, static_cast<double>(step) / over) : 1;
  return 1 + (end - 1) * done;
}

namespace {

struct QNetworks : torch::nn::Module {
  QNetworks(const options::AgentOptions& options, const passorder::EnvironmentSpec& spec) {
    scale = register_module("scale", std::make_shared<InputScale>(options, spec));
    torch::manual_seed(options.seed);  // libtorch initialises layers from its global generator only
    online = register_module("online", std::make_shared<ObservationNetwork>(options, spec, spec.actions, false, 1));
    target = register_module("target", std::make_shared<ObservationNetwork>(options, spec, spec.actions, false, 1));
    copy_to_target();
  }
  void copy_to_target() {
    const torch::NoGradGuard no_gradient;
    const auto from = online->parameters();
    auto to = target->parameters();
    for (size_t i = 0; i < from.size(); ++i) to[i].copy_(from[i]);
  }
  std::shared_ptr<InputScale> scale;
  std::shared_ptr<ObservationNetwork> online, target;
};

class DqnAgent : public Agent {
 public:
  DqnAgent(const options::AgentOptions& options, const passorder::EnvironmentSpec& spec)
      : options_(options),
        networks_(std::make_shared<QNetworks>(options, spec)),
        optimizer_(networks_->online->parameters(), torch::optim::AdamOptions(options.learning_rate)),
        replay_(options.buffer, spec.observation_width) {}

  std::optional<Round> round(passorder::VectorEnvironment& environments, const RunPlace& place,
                             const std::function<bool()>& interrupted) override {
    if (interrupted()) return std::nullopt;
    Rng rng(mix_seed(options_.seed, kExploring, place.rounds));
    Round done;
    for (int64_t i = 0; i < options_.train_every; ++i) act(environments, place.steps + done.steps, rng, done);
    if (replay_.size() < options_.learning_starts) return done;
    if (updates_ == 0) networks_->scale->values->update(replay_.observations());  // only once: targets stay fixed
    learn(place, done);
    return done;
  }

  void save(options::TensorFile& file) const override {
    put_module(*networks_, "model.", file);
    put_optimizer(optimizer_, *networks_->online, file);
    replay_.save(file);
    file.tensors["updates"] = to_stored(torch::tensor({updates_}, torch::kLong));
  }
  void restore(const options::TensorFile& file) override {
    take_module(file, "model.", *networks_);
    take_optimizer(file, *networks_->online, optimizer_);
    replay_.restore(file);
    torch::Tensor updates = torch::zeros({1}, torch::kLong);
    copy_stored(file.tensors.at("updates"), "updates", updates);
    updates_ = updates.item<int64_t>();
  }
  void begin_with(const options::TensorFile&) override {
    throw Error("dqn learns returns and cannot begin with a policy", "--begin", "choose another --agent");
  }
  void save_policy(options::TensorFile& file) const override {
    put_module(*networks_->scale, "scale.", file);
    put_module(*networks_->online, "policy.", file);
  }

 private:
  Inputs scaled(const torch::Tensor& observations) const {
    return networks_->scale->forward({observations, torch::empty({observations.size(0), 0}), {}});
  }

  void act(passorder::VectorEnvironment& environments, int64_t step, Rng& rng, Round& done) {
    const torch::NoGradGuard no_gradient;
    const passorder::EnvironmentSpec& spec = environments.spec();
    const std::vector<passorder::Observation> now = environments.observations();
    const double share = exploration(step, options_.steps, options_.exploration_share, options_.exploration_end);
    std::vector<int64_t> actions;
    torch::Tensor best;
    for (size_t e = 0; e < now.size(); ++e) {
      if (replay_.size() < options_.learning_starts || rng.uniform() < share) {
        actions.push_back(rng.below(spec.actions));
        continue;
      }
      if (!best.defined()) best = networks_->online->forward(scaled(stack(now, spec).values)).argmax(1);
      actions.push_back(best[static_cast<int64_t>(e)].item<int64_t>());
    }
    const std::vector<passorder::VectorStep> results = environments.step(actions);
    for (size_t e = 0; e < results.size(); ++e) {
      const passorder::Step& result = results[e].step;
      if (!std::isfinite(result.reward)) throw Error("the environment returned a reward that is not finite", spec.id);
      replay_.add(now[e].values, actions[e], result.reward, result.observation.values, result.terminated);
      if (result.done()) done.episodes.push_back({results[e].return_, results[e].length});
    }
    done.steps += environments.count();
  }

  void learn(const RunPlace& place, Round& done) {
    Rng rng(mix_seed(options_.seed, kReplaying, place.rounds));
    const Replay::Batch batch = replay_.sample(options_.batch, rng);
    torch::Tensor target;
    {
      const torch::NoGradGuard no_gradient;
      const Inputs after = scaled(batch.after);
      target = q_target(batch, networks_->online->forward(after), networks_->target->forward(after), options_.discount,
                        options_.double_q);
    }
    const torch::Tensor q = networks_->online->forward(scaled(batch.before));  // [rows, actions]
    const torch::Tensor taken = q.gather(1, batch.actions.unsqueeze(1)).squeeze(1);
    const torch::Tensor loss = torch::smooth_l1_loss(taken, target);
    optimizer_.zero_grad();
    loss.backward();
    const double value = loss.item<double>();
    if (!std::isfinite(value)) throw Error("the loss is not finite", "", "lower --learning-rate");
    optimizer_.clipped_step(options_.clip_norm);
    if (++updates_ % options_.target_every == 0) networks_->copy_to_target();
    done.scalars = {{"train/q_loss", value},
                    {"train/mean_q", taken.mean().item<double>()},
                    {"train/exploration",
                     exploration(place.steps, options_.steps, options_.exploration_share, options_.exploration_end)}};
  }

  options::AgentOptions options_;
  std::shared_ptr<QNetworks> networks_;
  mutable FusedAdam optimizer_;  // its state cannot be read through a const object
  Replay replay_;
  int64_t updates_ = 0;  // gradient steps so far
};

}  // namespace

std::unique_ptr<Agent> make_dqn(const options::AgentOptions& options, const passorder::EnvironmentSpec& spec) {
  return std::make_unique<DqnAgent>(options, spec);
}

}  // namespace hone::learn
