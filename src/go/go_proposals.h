// Plans derived from a plan: what a policy prefers to it, and sampled variants.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "go/go_scores.h"

namespace hone::go {

// The most probable decisions of all tasks; the plan's where the policy does not decide.
GoActions most_probable(const GoGraph& graph, const GoScores& output, const GoActions& plan);

// What a policy proposes instead of a plan: all its most probable decisions, only those it prefers to the plan's by a
// margin, and only those of some tasks. All differ from the plan and from each other; none when it prefers the plan.
std::vector<GoActions> propose(const GoGraph& graph, const GoScores& output, const GoActions& plan);

// Variants of a plan that are sampled again in some blocks.
struct GoDraws {
  std::vector<GoActions> actions;                                        // [samples]
  std::vector<std::array<std::vector<float>, options::kGoTasks>> drawn;  // [samples][tasks][nodes]: 1 where drawn
};
GoDraws draw(const GoGraph& graph, const GoScores& output, const GoActions& around, int64_t samples, Rng& rng);

// Assigns each operation a block, numbered from 0; returns how many. Sizes range from one operation to the whole graph.
int32_t cut_into_blocks(const GoGraph& graph, Rng& rng, std::vector<int32_t>& block);

}  // namespace hone::go
