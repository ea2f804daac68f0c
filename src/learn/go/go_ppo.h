// Training of graph policies against the simulator: proximal policy optimisation (Schulman et al. 2017)
// over graphs, as in GO (Zhou et al. 2020, "Transferable Graph Optimizers for ML Compilers", arXiv 2010.12438).
//
// An episode on a graph has GoOptions::steps steps. In each the policy sees the decisions so far, decides for all
// operations at once, and `samples` variants of its decisions are simulated; the next step begins with the best
// decisions of this one. A variant samples again in a few blocks of operations (a block: connected operations whose
// samples share their noise) and has the policy's most probable decision in all others, so that a reward can be
// attributed to what was sampled. Reward of a step: -sqrt(step time / step time of the start), -10 out of memory;
// advantage: reward minus the mean of the step's rewards, over their deviation. Loss, over sampled operations v and
// variants k of a task:
//   -mean_k mean_v min(r A_k, clip(r, 1 - c, 1 + c) A_k) - c_e H - c_i w mean_v log p(best known decision of v)
// with r = p(a_v) / p_old(a_v), and w = 1 while the best known decisions beat the policy's most probable ones, else 0
// (self-imitation, Oh et al. 2018).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "go/go_problem.h"
#include "learn/go/go_policy.h"
#include "learn/train/adam.h"
#include "options/go_train_options.h"

namespace hone::learn {

using go::GoProblem;
using options::GoTrainOptions;

using GoScalars = std::vector<std::pair<std::string, double>>;

class GoTrainer {
 public:
  GoTrainer(std::shared_ptr<GoPolicy> policy, std::vector<GoProblem>& problems, const GoTrainOptions& options);
  // One episode on one graph and its update. All randomness is a function of the seed and the iteration.
  GoScalars round(int64_t iteration);
  GoPolicy& policy() { return *policy_; }
  FusedAdam& optimizer() { return *optimizer_; }
  // The state that later rounds depend on, except for the number of rounds.
  void save(options::TensorFile& file) const;
  void restore(const options::TensorFile& file);  // throws Error or std::out_of_range

 private:
  struct Step;
  Step act(GoProblem& problem, const GoState& state, const GoActions& plan, Rng& rng);
  torch::Tensor loss(const GoProblem& problem, const Step& step, GoScalars& sums);
  std::shared_ptr<GoPolicy> policy_;
  std::vector<GoProblem>& problems_;
  GoTrainOptions options_;
  std::unique_ptr<FusedAdam> optimizer_;
};

}  // namespace hone::learn
