// Plans beside a plan: what a policy would rather decide, and variants that it draws.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "learn/go/go_policy.h"

namespace hone::learn {

// The most probable decisions of all tasks; the plan's where the policy has none.
GoActions most_probable(const GoGraph& graph, const GoOutput& output, const GoActions& plan);

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

}  // namespace hone::learn
