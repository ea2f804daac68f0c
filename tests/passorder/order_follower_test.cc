// What a policy that follows an order takes next, by hand; the same numbers stand in tests/python/test_pass_searches.py.
#include "passorder/order_follower.h"

#include <catch2/catch.hpp>
#include <limits>

#include "base/error.h"

using namespace hone;
using namespace hone::passorder;

namespace {

const FollowedOrder kOrder{{0, 1, 2, 0, 3}, 0.01, 5};
const std::vector<float> kLikely = {1, 1, 1, 1, 1};
const std::vector<bool> kNone(5);
// Of an action that is not next: its logit, at most 0, minus 2 for each action and one more.
constexpr float kBehind = -12;

}  // namespace

TEST_CASE("the passes of an order follow each other, two apart", "[rl]") {
  CHECK(follow(kOrder, kLikely, {}, kNone) == std::vector<float>{0, -2, -4, -6, kBehind});
  // Behind the second pass 0 comes 3, then the order from its beginning.
  CHECK(follow(kOrder, kLikely, {1, 0}, kNone) == std::vector<float>{-2, -4, -6, 0, kBehind});
  CHECK(follow(kOrder, kLikely, {0}, kNone) == std::vector<float>{-4, 0, -2, -6, kBehind});
  CHECK(follow(kOrder, kLikely, {1, 0, 4}, kNone)[3] == 0);  // a pass that is not of the order leaves the place
  CHECK(follow(kOrder, kLikely, {3}, kNone)[0] == 0);        // around the end
}

TEST_CASE("a follower leaves out what was tried and what is unlikely to change anything", "[rl]") {
  CHECK(follow(kOrder, kLikely, {}, {true, false, false, false, false}) ==
        std::vector<float>{kBehind, 0, -2, -4, kBehind});
  const std::vector<float> logits = {1, -4.5f, -4.7f, 1, -1};  // 0.01 is a logit of -4.595
  CHECK(follow(kOrder, logits, {}, kNone) == std::vector<float>{0, -2, -4.7f + kBehind, -4, -1 + kBehind});
  CHECK_THROWS_AS(follow(kOrder, logits, {}, {}), InternalError);
}

TEST_CASE("where a walk has no time for all, the likeliest come first", "[rl]") {
  FollowedOrder order = kOrder;
  order.walk = 3;  // of the five passes, so two of the three behind the second
  const std::vector<float> logits = {1, -1, 2, 0.5f, 0};
  CHECK(follow(order, logits, {}, kNone) == std::vector<float>{0, -4, -2, -6, kBehind});
  CHECK(follow(order, logits, {0, 1}, kNone) == std::vector<float>{-2, -4, 0, -6, kBehind});
  CHECK(follow(order, logits, {0, 1}, {true, false, false, false, false}) ==
        std::vector<float>{kBehind, -4, 0, -2, kBehind});
}

TEST_CASE("an order is read by the names of its passes", "[rl]") {
  const std::vector<std::string> actions = {"cse", "dce"};
  const FollowedOrder order =
      followed_order_from_json({{"passes", {"dce", "cse", "dce"}}, {"least_chance", 0.1}, {"walk", 45}}, actions);
  CHECK(order.passes == std::vector<size_t>{1, 0, 1});
  CHECK(order.least_chance == 0.1);
  for (const nlohmann::json& bad :
       {nlohmann::json(), nlohmann::json{{"passes", {"dce"}}},
        nlohmann::json{{"passes", {"x"}}, {"least_chance", 0.1}, {"walk", 45}},
        nlohmann::json{{"passes", {"dce"}}, {"least_chance", 1}, {"walk", 45}},
        nlohmann::json{{"passes", {"dce"}}, {"least_chance", 0.1}, {"walk", 0}},
        nlohmann::json{{"passes", {"dce"}}, {"least_chance", 0.1}, {"walk", 1000000000000000000}},
        nlohmann::json{{"passes", nlohmann::json::array()}, {"least_chance", 0.1}, {"walk", 45}},
        nlohmann::json{{"passes", 3}, {"least_chance", 0.1}, {"walk", 45}}})
    CHECK_THROWS_AS(followed_order_from_json(bad, actions), Error);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_AS(follow(order, {nan, 0}, {}, {false, false}), Error);
}
