#include "passorder/order_follower.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "base/error.h"

namespace hone::passorder {
namespace {

constexpr float kStep = 2;  // between the scores of one pass and the next

// The place in the order behind the last change.
size_t place_after(const std::vector<size_t>& order, const std::vector<size_t>& history) {
  size_t place = 0;
  for (const size_t action : history)
    for (size_t ahead = 0; ahead < order.size(); ++ahead)
      if (order[(place + ahead) % order.size()] == action) {
        place = (place + ahead + 1) % order.size();
        break;
      }
  return place;
}

// The least logit of those behind a place for which a walk has time.
float likely(const FollowedOrder& order, size_t place, const std::vector<float>& logits,
             const std::vector<bool>& taken) {
  std::vector<float> rest;
  for (size_t at = place; at < order.passes.size(); ++at)
    if (!taken[order.passes[at]]) rest.push_back(logits[order.passes[at]]);
  const size_t all = order.passes.size();
  const size_t time = (static_cast<size_t>(order.walk) * (all - place) + all - 1) / all;
  if (rest.size() <= time) return std::numeric_limits<float>::lowest();
  std::nth_element(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(time) - 1, rest.end(), std::greater<>());
  return rest[time - 1];
}

}  // namespace

FollowedOrder followed_order_from_json(const nlohmann::json& json, const std::vector<std::string>& actions) {
  FollowedOrder order;
  try {
    order.least_chance = json.at("least_chance");
    order.walk = json.at("walk");
    for (const std::string name : json.at("passes")) {
      const auto found = std::find(actions.begin(), actions.end(), name);
      if (found == actions.end()) throw Error("the policy follows the pass '" + name + "', which is no action of it");
      order.passes.push_back(static_cast<size_t>(found - actions.begin()));
    }
  } catch (const nlohmann::json::exception& e) {
    throw Error(std::string("the policy's order is damaged: ") + e.what());
  }
  if (!(order.least_chance > 0 && order.least_chance < 1)) throw Error("the policy's least chance is not in (0, 1)");
  if (order.walk < 1 || order.walk > 1000) throw Error("the walk of the policy is not of 1 to 1000 passes");
  if (order.passes.empty()) throw Error("the policy follows no passes");
  return order;
}

std::vector<float> follow(const FollowedOrder& order, const std::vector<float>& logits,
                          const std::vector<size_t>& history, const std::vector<bool>& taken) {
  if (taken.size() != logits.size()) throw InternalError("the scores of an order have another number of passes");
  if (!std::all_of(logits.begin(), logits.end(), [](float logit) { return std::isfinite(logit); }))
    throw Error("the policy's scores are no numbers");
  const auto bound = static_cast<float>(std::log(order.least_chance / (1 - order.least_chance)));
  std::vector<float> scores;
  for (const float logit : logits)
    scores.push_back(std::min(logit, 0.0f) - kStep * static_cast<float>(logits.size() + 1));
  const auto rest = static_cast<std::ptrdiff_t>(place_after(order.passes, history));
  std::vector<bool> ranked(logits.size());
  float next = 0;
  const auto rank = [&](auto begin, float least) {
    for (auto action = begin; action != order.passes.end(); ++action) {
      if (ranked[*action] || taken[*action] || logits[*action] < least) continue;
      ranked[*action] = true;
      scores[*action] = std::exchange(next, next - kStep);
    }
  };
  rank(order.passes.begin() + rest, std::max(bound, likely(order, static_cast<size_t>(rest), logits, taken)));
  rank(order.passes.begin(), bound);
  return scores;
}

}  // namespace hone::passorder
