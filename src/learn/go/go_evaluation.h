// A graph policy at work: plans refined step by step, without learning.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "learn/go/go_policy.h"
#include "learn/go/go_problem.h"

namespace hone::learn {

// One evaluation of a policy on a graph: GoOptions::steps steps that refine the start. In each, what the policy proposes and
// `samples` variants around the best of it are simulated; the best plan so far is what the next step sees. So nothing is taken
// that the simulator finds worse, however little the policy knows of such a graph. samples = 0: the proposals alone, nothing
// is drawn. Returns the step time after each step, best so far, never more than that of the start.
std::vector<double> evaluate(GoPolicy& policy, GoProblem& problem, int64_t samples, Rng& rng);

}  // namespace hone::learn
