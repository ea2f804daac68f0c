#include "learn/go/go_evaluation.h"

#include "learn/go/go_proposals.h"

namespace hone::learn {

namespace {

// Simulates decisions; keeps the best so far in `plan` and `seconds`. Returns whether these are the new best.
bool try_plan(GoProblem& problem, const GoActions& actions, const options::GoOptions& options, GoActions& plan,
              double& seconds) {
  const double now = simulate(problem, actions, options);
  if (now >= seconds) return false;
  seconds = now;
  plan = actions;
  return true;
}

}  // namespace

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

}  // namespace hone::learn
