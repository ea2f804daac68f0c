#include "learn/go/go_ppo.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "learn/nets/trained.h"
#include "learn/train/checkpoint.h"

namespace hone::learn {

namespace go_ppo_parts {

using options::GoTask;
using options::kGoTasks;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kTaskShare = 0.7;  // of variants that draw anew for a task
constexpr float kCut = 3;           // of advantages, in deviations
// Of log-probability, by which the policy must prefer a decision to what is planned for a proposal to change it.
constexpr float kMargins[] = {0, 2, 4};

double gumbel(Rng& rng) { return -std::log(-std::log(std::max(rng.uniform(), 1e-12))); }

// Rewards to mean 0 and deviation 1, by those that are valid; what is invalid counts as the worst there can be.
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

// The plan with the most probable decisions of the tasks in `subset` (bits), where the policy prefers them by more than
// `margin` of log-probability.
GoActions toward_mode(const GoGraph& graph, const GoOutput& output, GoActions plan, int subset, float margin) {
  for (int task = 0; task < kGoTasks; ++task) {
    if (!(subset >> task & 1) || !output.log_probs[task].defined()) continue;
    const torch::Tensor logs = output.log_probs[task].contiguous(),
                        modes = logs.argmax(1);  // [nodes, actions], [nodes]
    const float *p = logs.data_ptr<float>(), *decides = graph.decides[task].data_ptr<float>();
    const int64_t choices = logs.size(1), *mode = modes.data_ptr<int64_t>();
    for (int64_t v = 0; v < graph.nodes; ++v)
      if (decides[v] > 0 && p[v * choices + mode[v]] - p[v * choices + plan[task][v]] > margin)
        plan[task][v] = static_cast<int32_t>(mode[v]);
  }
  return plan;
}

GoActions most_probable(const GoGraph& graph, const GoOutput& output, const GoActions& plan) {
  return toward_mode(graph, output, plan, (1 << kGoTasks) - 1, 0);
}

}  // namespace go_ppo_parts

using namespace go_ppo_parts;

int32_t cut_into_blocks(const GoGraph& graph, Rng& rng, std::vector<int32_t>& block) {
  const double length = std::pow(static_cast<double>(graph.nodes), rng.uniform());  // expected size of a block
  block.resize(graph.nodes);
  int32_t blocks = 0;
  if (rng.uniform() < 0.5) {  // stretches of the topological order
    double left = 0;
    for (int64_t v = 0; v < graph.nodes; ++v, --left) {
      if (left < 1) {
        left += 2 * length * rng.uniform() + 1;
        ++blocks;
      }
      block[v] = blocks - 1;
    }
    return blocks;
  }
  for (int64_t v = 0; v < graph.nodes; ++v)  // trees along the largest operands
    block[v] = graph.heaviest[v] >= 0 && rng.uniform() < 1 - 1 / length ? block[graph.heaviest[v]] : blocks++;
  return blocks;
}

std::vector<GoActions> propose(const GoGraph& graph, const GoOutput& output, const GoActions& plan) {
  constexpr int kSubsets = 1 << kGoTasks;
  std::vector<GoActions> proposals;
  const auto add_move = [&](int subset, float margin) {
    GoActions moved = toward_mode(graph, output, plan, subset, margin);
    if (moved != plan && std::find(proposals.begin(), proposals.end(), moved) == proposals.end())
      proposals.push_back(std::move(moved));
  };
  for (const float margin : kMargins) add_move(kSubsets - 1, margin);
  for (int subset = 1; subset < kSubsets - 1; ++subset) add_move(subset, 0);
  return proposals;
}

GoDraws draw(const GoGraph& graph, const GoOutput& output, const GoActions& around, int64_t samples, Rng& rng) {
  GoDraws draws;
  std::array<torch::Tensor, kGoTasks> logs;
  for (int task = 0; task < kGoTasks; ++task)
    if (output.log_probs[task].defined()) logs[task] = output.log_probs[task].contiguous();
  std::vector<int32_t> block;
  std::vector<double> noise;
  std::vector<char> drawn;
  for (int64_t k = 0; k < samples; ++k) {
    draws.actions.push_back(around);
    auto& marks = draws.drawn.emplace_back();
    const int32_t blocks = cut_into_blocks(graph, rng, block);
    const double share = static_cast<double>(int64_t{1} << rng.below(5)) / blocks;
    drawn.assign(blocks, 0);
    for (char& one : drawn) one = rng.uniform() < share;
    drawn[rng.below(blocks)] = 1;
    for (int task = 0; task < kGoTasks; ++task) {
      marks[task].assign(graph.nodes, 0.0f);
      if (!logs[task].defined() || rng.uniform() > kTaskShare) continue;
      const int64_t choices = logs[task].size(1);
      noise.resize(blocks * choices);
      for (int32_t b = 0; b < blocks; ++b)
        for (int64_t c = 0; drawn[b] && c < choices; ++c) noise[b * choices + c] = gumbel(rng);
      const float *p = logs[task].data_ptr<float>(), *decides = graph.decides[task].data_ptr<float>();
      for (int64_t v = 0; v < graph.nodes; ++v) {
        if (!drawn[block[v]] || decides[v] <= 0) continue;
        const double* g = noise.data() + block[v] * choices;
        int64_t best = 0;
        for (int64_t c = 1; c < choices; ++c)
          if (p[v * choices + c] + g[c] > p[v * choices + best] + g[best]) best = c;
        draws.actions.back()[task][v] = static_cast<int32_t>(best);
        marks[task][v] = 1;
      }
    }
  }
  return draws;
}

namespace go_ppo_parts {

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

GoState observe(GoProblem& problem, const GoActions& actions, const options::GoOptions& options) {
  ++problem.simulations;
  return observe(problem.simulator, problem.graph, actions, plan_of(problem, actions, options));
}

// Simulates decisions; keeps the best so far in `plan` and `seconds`, and says whether it is new.
bool try_plan(GoProblem& problem, const GoActions& actions, const options::GoOptions& options, GoActions& plan,
              double& seconds) {
  const double now = simulate(problem, actions, options);
  if (now >= seconds) return false;
  seconds = now;
  plan = actions;
  return true;
}

}  // namespace go_ppo_parts

std::vector<double> evaluate(GoPolicy& policy, GoProblem& problem, int64_t samples, Rng& rng) {
  const torch::NoGradGuard no_gradient;
  std::vector<double> seconds;
  GoActions plan = problem.start;
  double here = problem.start_seconds;
  GoState state = observe(problem, plan, policy.options);
  for (int64_t step = 0; step < policy.options.steps; ++step) {
    const GoOutput output = policy.forward(problem.graph, state);
    bool better = false;
    for (const GoActions& proposal : propose(problem.graph, output, plan))
      better |= try_plan(problem, proposal, policy.options, plan, here);
    const GoDraws draws = draw(problem.graph, output, plan, samples, rng);
    for (const GoActions& variant : draws.actions) better |= try_plan(problem, variant, policy.options, plan, here);
    seconds.push_back(here);
    if (!policy.options.refinement || step + 1 == policy.options.steps) break;
    if (better) state = observe(problem, plan, policy.options);
    state.embedding = output.embedding;
  }
  return seconds;
}

struct GoTrainer::Step {
  GoState state;
  std::array<torch::Tensor, kGoTasks> actions, drawn, old;  // [nodes, samples]
  torch::Tensor advantages;                                 // [samples]
  bool imitate = false;
  GoActions next;  // what the next step refines
  torch::Tensor embedding;
  double mode_seconds = 0, best_seconds = 0, reward = 0;
};

GoTrainer::GoTrainer(std::shared_ptr<GoPolicy> policy, std::vector<GoProblem>& problems, const GoTrainOptions& options)
    : policy_(std::move(policy)),
      problems_(problems),
      options_(options),
      optimizer_(std::make_unique<torch::optim::Adam>(policy_->parameters(),
                                                      torch::optim::AdamOptions(options.learning_rate))) {
  options.validate();
  if (problems.empty()) throw Error("no graph to train on", "programs");
}

GoTrainer::Step GoTrainer::act(GoProblem& problem, const GoState& state, const GoActions& plan, Rng& rng) {
  const torch::NoGradGuard no_gradient;
  const GoOutput output = policy_->forward(problem.graph, state);
  const GoActions mode = most_probable(problem.graph, output, plan);
  const GoDraws draws = draw(problem.graph, output, mode, options_.samples, rng);
  const Judged judged = judge(problem, mode, draws, policy_->options);
  Step step;
  step.state = state;
  step.embedding = output.embedding;
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
    // Decisions that are not the policy's may be no action of it (a start with other levels): they are not drawn.
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
    const torch::Tensor& decides = problem.graph.decides[task];
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
      if (options_.clip_norm > 0) torch::nn::utils::clip_grad_norm_(policy_->parameters(), options_.clip_norm);
      optimizer_->step();
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
