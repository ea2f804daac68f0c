#include "go/go_evaluation.h"

#include "go/go_proposals.h"

namespace hone::go {

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

std::vector<double> evaluate(GoScorer& policy, GoProblem& problem, int64_t samples, Rng& rng) {
  const options::GoOptions& options = policy.options();
  std::vector<double> seconds;
  GoActions plan = problem.start;
  double here = problem.start_seconds;
  GoState state = observe(problem, plan, options);
  for (int64_t step = 0; step < options.steps; ++step) {
    GoScores scores = policy.scores(problem.graph, state);
    bool better = false;
    for (const GoActions& proposal : propose(problem.graph, scores, plan))
      better |= try_plan(problem, proposal, options, plan, here);
    const GoDraws draws = draw(problem.graph, scores, plan, samples, rng);
    for (const GoActions& variant : draws.actions) better |= try_plan(problem, variant, options, plan, here);
    seconds.push_back(here);
    if (!options.refinement || step + 1 == options.steps) break;
    if (better) state = observe(problem, plan, options);
    state.embedding = std::move(scores.embedding);
  }
  return seconds;
}

}  // namespace hone::go
