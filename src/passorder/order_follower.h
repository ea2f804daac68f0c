// A policy that follows one order of passes, the same for every program, and leaves out the passes that its network says would
// change nothing: a walk of 45 passes then has room for a longer order (docs/decisions/0058-follow-an-order.md).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hone::passorder {

struct FollowedOrder {
  std::vector<size_t> passes;  // numbers of actions
  double least_chance = 0;     // of a change; what has less is left out
  int64_t walk = 45;           // passes in which a walk goes through the order
};

// {"passes": names, "least_chance", "walk"} with the names of `actions`. Throws Error for other JSON and unknown names.
FollowedOrder followed_order_from_json(const nlohmann::json& json, const std::vector<std::string>& actions);

// Scores of the actions. Next is the first pass of the order behind the last one that changed the program that is not in `taken`
// (one element per action) and among the likeliest to change something: as many of those behind that place as a walk has time for,
// if it goes through the order evenly. Then come all that are likely enough, from the order's beginning on. Each scores 2 less than
// the one before, and what is not in the order less than all of these. `logits`: of the chance that each action changes the program.
// `history`: the actions that changed it, oldest first; of equal passes in the order the nearest one ahead is meant.
std::vector<float> follow(const FollowedOrder& order, const std::vector<float>& logits,
                          const std::vector<size_t>& history, const std::vector<bool>& taken);

}  // namespace hone::passorder
