#include "learn/go/go_ppo.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "go/go_proposals.h"
#include "learn/nets/trained.h"
#include "learn/train/checkpoint.h"

namespace hone::learn {

namespace {

using go::GoDraws;
using options::kGoTasks;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr float kCut = 3;  // advantages are clipped to +-kCut deviations

// Standardises rewards by the valid ones; an invalid one gets -kCut, or 0 if none is valid.
torch::Tensor advantages_of(const std::vector<double>& rewards, double invalid) {
  double sum = 0, square = 0, count = 0;
  for (const double r : rewards) {
    if (r == invalid) continue;
    sum += r;
    square += r * r;
    ++count;
  }
  const double mean = count > 0 ? sum / count : 0;
  const double deviation = count > 0 ? std::sqrt(std::max(square / count - mean * mean, 0.0)) : 0;
  std::vector<float> advantages;
  for (const double r : rewards) {
    if (r == invalid)
      advantages.push_back(count > 0 ? -kCut : 0.0f);
    else
      advantages.push_back(deviation > 1e-9 ? std::clamp(static_cast<float>((r - mean) / deviation), -kCut, kCut)
                                            : 0.0f);
  }
  return torch::tensor(advantages);  // [samples]
}

// Column k = list k: [nodes, lists].
template <class T, class Pick>
torch::Tensor columns(size_t lists, int64_t nodes, torch::ScalarType type, Pick&& pick) {
  torch::Tensor rows = torch::empty({static_cast<int64_t>(lists), nodes}, type);
  for (size_t k = 0; k < lists; ++k) {
    const auto& list = pick(k);
    std::copy(list.begin(), list.end(), rows.data_ptr<T>() + static_cast<int64_t>(k) * nodes);
  }
  return rows.t();
}

torch::Tensor indices(const std::vector<int32_t>& values) {
  return torch::tensor(values, torch::kInt).to(torch::kLong);
}

void add(GoScalars& sums, const char* name, double value) {
  for (auto& [known, sum] : sums)
    if (known == name) {
      sum += value;
      return;
    }
  sums.emplace_back(name, value);
}

struct Judged {
  std::vector<double> seconds;  // [samples]
  double mode_seconds = kNever;
  const GoActions* best = nullptr;  // of the step; null when nothing is valid
  double best_seconds = kNever;
};

Judged judge(GoProblem& problem, const GoActions& mode, const GoDraws& draws, const options::GoOptions& options) {
  Judged judged;
  judged.mode_seconds = judged.best_seconds = simulate(problem, mode, options);
  if (std::isfinite(judged.mode_seconds)) judged.best = &mode;
  for (const GoActions& actions : draws.actions) {
    judged.seconds.push_back(simulate(problem, actions, options));
    if (judged.seconds.back() >= judged.best_seconds) continue;
    judged.best_seconds = judged.seconds.back();
    judged.best = &actions;
  }
  return judged;
}

}  // namespace

struct GoTrainer::Step {
  GoState state;
  std::array<torch::Tensor, kGoTasks> actions, drawn, old;  // [nodes, samples]
  torch::Tensor advantages;                                 // [samples]
  bool imitate = false;
  GoActions next;                // what the next step refines
  std::vector<float> embedding;  // [nodes, hidden]
  double mode_seconds = 0, best_seconds = 0, reward = 0;
};

GoTrainer::GoTrainer(std::shared_ptr<GoPolicy> policy, std::vector<GoProblem>& problems, const GoTrainOptions& options)
    : policy_(std::move(policy)),
      problems_(problems),
      options_(options),
      optimizer_(std::make_unique<FusedAdam>(policy_->parameters(), torch::optim::AdamOptions(options.learning_rate))) {
  options.validate();
  if (problems.empty()) throw Error("no graph to train on", "programs");
}

GoTrainer::Step GoTrainer::act(GoProblem& problem, const GoState& state, const GoActions& plan, Rng& rng) {
  const torch::NoGradGuard no_gradient;
  const GoOutput output = policy_->forward(problem.graph, state);
  const go::GoScores scores = scores_of(output);
  const GoActions mode = most_probable(problem.graph, scores, plan);
  const GoDraws draws = draw(problem.graph, scores, mode, options_.samples, rng);
  const Judged judged = judge(problem, mode, draws, policy_->options);
  Step step;
  step.state = state;
  step.embedding = scores.embedding;
  std::vector<double> rewards;
  for (const double seconds : judged.seconds) {
    rewards.push_back(std::isfinite(seconds) ? -std::sqrt(seconds / problem.scale_seconds) : options_.invalid_reward);
    step.reward += rewards.back() / static_cast<double>(judged.seconds.size());
  }
  step.advantages = advantages_of(rewards, options_.invalid_reward);
  for (int task = 0; task < kGoTasks; ++task) {
    if (!output.log_probs[task].defined()) continue;
    const size_t samples = draws.actions.size();
    step.actions[task] = columns<int64_t>(samples, problem.graph.nodes, torch::kLong,
                                          [&](size_t k) -> auto& { return draws.actions[k][task]; });
    step.drawn[task] = columns<float>(samples, problem.graph.nodes, torch::kFloat,
                                      [&](size_t k) -> auto& { return draws.drawn[k][task]; });
    // Decisions that were not drawn may be none of the policy's actions (a start with other levels).
    step.old[task] = output.log_probs[task].gather(1, step.actions[task]);
  }
  step.mode_seconds = judged.mode_seconds;
  step.best_seconds = judged.best_seconds;
  step.next = judged.best ? *judged.best : mode;
  return step;
}

torch::Tensor GoTrainer::loss(const GoProblem& problem, const Step& step, GoScalars& sums) {
  const GoOutput output = policy_->forward(problem.graph, step.state);
  torch::Tensor total = torch::zeros({});
  for (int task = 0; task < kGoTasks; ++task) {
    if (!output.log_probs[task].defined()) continue;
    const torch::Tensor& logs = output.log_probs[task];                                   // [nodes, actions]
    const torch::Tensor log_ratio = logs.gather(1, step.actions[task]) - step.old[task];  // [nodes, samples]
    const torch::Tensor ratio = log_ratio.exp(), &drawn = step.drawn[task];
    const torch::Tensor gain = torch::minimum(
        ratio * step.advantages, torch::clamp(ratio, 1 - options_.clip, 1 + options_.clip) * step.advantages);
    const torch::Tensor policy_loss = -((gain * drawn).sum(0) / drawn.sum(0).clamp_min(1)).mean();
    const torch::Tensor decides = torch::tensor(problem.graph.decides[task]);
    const torch::Tensor share = decides / decides.sum().clamp_min(1);  // [nodes]
    const torch::Tensor entropy = -((logs.exp() * logs).sum(1) * share).sum();
    total = total + policy_loss - options_.entropy * entropy;
    if (step.imitate && options_.imitation > 0) {
      const torch::Tensor best = logs.gather(1, indices(problem.best[task]).unsqueeze(1)).squeeze(1);  // [nodes]
      const torch::Tensor imitation = -(best * share).sum();
      total = total + options_.imitation * imitation;
      add(sums, "train/imitation_loss", imitation.item<double>());
    }
    add(sums, "train/policy_loss", policy_loss.item<double>());
    add(sums, "train/entropy", entropy.item<double>());
    const torch::NoGradGuard no_gradient;
    const torch::Tensor kl = (ratio - 1 - log_ratio) * drawn;
    add(sums, "train/approximate_kl", (kl.sum() / drawn.sum().clamp_min(1)).item<double>());
  }
  return total;
}

GoScalars GoTrainer::round(int64_t iteration) {
  Rng rng(options_.seed * 0x9e3779b97f4a7c15ull + static_cast<uint64_t>(iteration));
  const int64_t count = static_cast<int64_t>(problems_.size());
  GoProblem& problem = problems_[iteration % count];
  const bool from_best = rng.uniform() < options_.from_best;
  GoActions plan = from_best ? problem.best : problem.start;
  GoState state = observe(problem, plan, policy_->options);
  std::vector<Step> steps;
  GoScalars scalars;
  const int64_t length = policy_->options.refinement ? policy_->options.steps : 1;
  double reward = 0;
  for (int64_t t = 0; t < length; ++t) {
    steps.push_back(act(problem, state, plan, rng));
    reward += steps.back().reward / static_cast<double>(length);
    if (t + 1 == length) break;
    plan = steps.back().next;
    state = observe(problem, plan, policy_->options);
    state.embedding = steps.back().embedding;
  }
  for (Step& step : steps) step.imitate = problem.best_seconds < step.mode_seconds;
  GoScalars sums;
  for (int64_t epoch = 0; epoch < options_.epochs; ++epoch)
    for (const Step& step : steps) {
      optimizer_->zero_grad();
      const torch::Tensor total = loss(problem, step, sums);
      if (!std::isfinite(total.item<double>()))
        throw Error("the loss is not finite", problem.name, "a smaller learning rate");
      total.backward();
      optimizer_->clipped_step(options_.clip_norm);
    }
  const double updates = static_cast<double>(options_.epochs * length);
  for (auto& [name, sum] : sums) scalars.emplace_back(name, sum / updates);
  scalars.emplace_back("episode/reward", reward);
  scalars.emplace_back("episode/mode_over_start", steps.back().mode_seconds / problem.scale_seconds);
  scalars.emplace_back("episode/best_over_start", problem.best_seconds / problem.scale_seconds);
  return scalars;
}

void GoTrainer::save(options::TensorFile& file) const {
  put_parameters(*policy_, "policy.", file);
  put_optimizer(*optimizer_, *policy_, file);
  for (size_t i = 0; i < problems_.size(); ++i) {
    const std::string prefix = "problem" + std::to_string(i) + ".";
    for (int task = 0; task < kGoTasks; ++task)
      file.tensors[prefix + std::to_string(task)] = to_stored(indices(problems_[i].best[task]));
    file.tensors[prefix + "seconds"] = to_stored(torch::tensor(problems_[i].best_seconds, torch::kDouble));
    file.tensors[prefix + "simulations"] = to_stored(torch::tensor(problems_[i].simulations, torch::kLong));
  }
}

void GoTrainer::restore(const options::TensorFile& file) {
  take_parameters(file, "policy.", *policy_);
  take_optimizer(file, *policy_, *optimizer_);
  for (size_t i = 0; i < problems_.size(); ++i) {
    const std::string prefix = "problem" + std::to_string(i) + ".";
    const auto take = [&](const std::string& name, torch::Tensor into) {
      copy_stored(file.tensors.at(prefix + name), prefix + name, into);
      return into;
    };
    for (int task = 0; task < kGoTasks; ++task) {
      const torch::Tensor best =
          take(std::to_string(task), torch::empty({problems_[i].graph.nodes}, torch::kLong)).to(torch::kInt);
      problems_[i].best[task].assign(best.data_ptr<int32_t>(), best.data_ptr<int32_t>() + best.numel());
    }
    problems_[i].best_seconds = take("seconds", torch::zeros({}, torch::kDouble)).item<double>();
    problems_[i].simulations = take("simulations", torch::zeros({}, torch::kLong)).item<int64_t>();
  }
}

}  // namespace hone::learn
