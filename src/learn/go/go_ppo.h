// Training of graph policies against the simulator: proximal policy optimisation over graphs (field notes 1.1, 1.2).
//
// An episode on a graph has GoOptions::steps steps. In each the policy sees the decisions so far, decides for all
// operations at once, and `samples` variants of its decisions are simulated; the best decisions seen in the step are what
// the next one begins with. A variant draws anew in a few blocks of operations (a block: operations that hang together,
// whose draws share their noise), and is the policy's most probable decision elsewhere, so that a reward can be traced to
// what was drawn. Reward of a step: -sqrt(step time / that of the start), -10 out of memory; advantage: reward minus the
// mean of the step's rewards, over their deviation. Loss, over drawn operations v and variants k of a task:
//   -mean_k mean_v min(r A_k, clip(r, 1 - c, 1 + c) A_k) - c_e H - c_i w mean_v log p(best known decision of v)
// with r = p(a_v) / p_old(a_v), and w = 1 while the best known decisions beat the policy's most probable ones, else 0
// (self-imitation, Oh et al. 2018).
#pragma once

#include <torch/optim.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "learn/go/go_policy.h"
#include "options/go_train_options.h"
#include "sim/strategies.h"

namespace hone::learn {

using options::GoTrainOptions;

// A graph on a topology, and the best that is known about it.
struct GoProblem {
  std::string name;
  sim::Simulator simulator;
  GoGraph graph;
  std::array<bool, options::kGoTasks> plain;  // tasks left to the simulator's defaults
  GoActions start;                            // what the first step refines: the best of quick baselines
  std::string start_name;
  double start_seconds = 0;  // infinite when nothing quick fits into memory
  double scale_seconds = 0;  // of rewards
  GoActions best;
  double best_seconds = 0;  // infinite until something fits into memory
  int64_t simulations = 0;
  std::vector<std::pair<double, GoActions>> finalists;  // the best of different step times, fastest first
};
inline constexpr size_t kGoFinalists = 8;
// `default_fusion`: XLA's own, as priorities; may be empty. `start`: the strategy (sim/strategies.h) whose placement is
// refined, or "best" of those that do not search, but for random ones; each is asked with nothing fused, XLA's fusion and
// priority fusion, where fusion is decided. `tasks`: of the policy's, those to be decided; empty = all. What is not decided
// is as XLA does it. Throws Error as Simulator does, for strategies there are not, and for tasks the policy does not know.
GoProblem make_go_problem(sim::Simulator simulator, const options::GoOptions& options,
                          const std::vector<int32_t>& default_fusion = {}, const std::string& start = "best",
                          const std::vector<std::string>& tasks = {});
// Step time of decisions, infinite out of memory; keeps the best.
double simulate(GoProblem& problem, const GoActions& actions, const options::GoOptions& options);
sim::Plan plan_of(const GoProblem& problem, const GoActions& actions, const options::GoOptions& options);

// What a policy proposes instead of a plan: its most probable decisions, all of them, those it prefers to the plan's by a
// margin, and those of some tasks alone. All differ from the plan and from each other; none when the plan is what it wants.
std::vector<GoActions> propose(const GoGraph& graph, const GoOutput& output, const GoActions& plan);

// Variants of a plan that draw anew in some blocks.
struct GoDraws {
  std::vector<GoActions> actions;                                        // [samples]
  std::vector<std::array<std::vector<float>, options::kGoTasks>> drawn;  // [samples][tasks][nodes]: 1 where drawn
};
GoDraws draw(const GoGraph& graph, const GoOutput& output, const GoActions& around, int64_t samples, Rng& rng);

// Blocks of operations, numbered from 0; returns how many. Sizes vary from single operations to the whole graph.
int32_t cut_into_blocks(const GoGraph& graph, Rng& rng, std::vector<int32_t>& block);

using GoScalars = std::vector<std::pair<std::string, double>>;

// One evaluation of a policy on a graph: GoOptions::steps steps that refine the start. In each, what the policy proposes and
// `samples` variants around the best of it are simulated; the best plan so far is what the next step sees. So nothing is taken
// that the simulator finds worse, however little the policy knows of such a graph. samples = 0: the proposals alone, nothing
// is drawn. Returns the step time after each step, best so far, never more than that of the start.
std::vector<double> evaluate(GoPolicy& policy, GoProblem& problem, int64_t samples, Rng& rng);

class GoTrainer {
 public:
  GoTrainer(std::shared_ptr<GoPolicy> policy, std::vector<GoProblem>& problems, const GoTrainOptions& options);
  // One episode on one graph, and the update it brings. All randomness follows from the seed and the iteration.
  GoScalars round(int64_t iteration);
  GoPolicy& policy() { return *policy_; }
  torch::optim::Adam& optimizer() { return *optimizer_; }
  // All that later rounds depend on beside the number of rounds.
  void save(options::TensorFile& file) const;
  void restore(const options::TensorFile& file);  // throws Error or std::out_of_range

 private:
  struct Step;
  Step act(GoProblem& problem, const GoState& state, const GoActions& plan, Rng& rng);
  torch::Tensor loss(const GoProblem& problem, const Step& step, GoScalars& sums);
  std::shared_ptr<GoPolicy> policy_;
  std::vector<GoProblem>& problems_;
  GoTrainOptions options_;
  std::unique_ptr<torch::optim::Adam> optimizer_;
};

}  // namespace hone::learn
