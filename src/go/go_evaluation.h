// Inference with a graph policy: refines plans step by step, without learning.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "go/go_problem.h"
#include "go/go_scores.h"

namespace hone::go {

// One evaluation of a policy on a graph: GoOptions::steps steps that refine the start. Each step simulates the policy's
// proposals and `samples` variants of the best of them; the next step begins with the best plan so far. So a plan that
// the simulator finds worse is never taken, even on graphs unlike the training graphs. samples = 0: only the proposals,
// nothing is drawn. Returns the best step time so far after each step, never more than that of the start.
std::vector<double> evaluate(GoScorer& policy, GoProblem& problem, int64_t samples, Rng& rng);

}  // namespace hone::go
