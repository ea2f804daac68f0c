#include "graph/input_kind.h"

#include <catch2/catch.hpp>
#include <set>

#include "base/error.h"
#include "graph/allowed_difference.h"

namespace hone {

TEST_CASE("kinds of inputs have distinct names, which lead back to them", "[input_kind]") {
  std::set<std::string> names;
  for (const InputKindTraits& row : input_kinds()) {
    CHECK(names.insert(row.name).second);
    CHECK(input_kind_from_name(row.name) == row.kind);
    CHECK(input_kind_name(row.kind) == std::string(row.name));
  }
  CHECK(names.size() >= 3);
  CHECK(input_kind_names().front() == "ordinary");
  CHECK_THROWS_AS(input_kind_from_name("nan"), Error);
  CHECK_THROWS_AS(input_kind_name(static_cast<InputKind>(99)), InternalError);
}

TEST_CASE("nothing excuses a difference on ordinary inputs", "[input_kind]") {
  const std::string winograd = "convolution:f32[1,8,8,4]*f32[3,3,4,4]";
  for (const Decision& d :
       {Decision{DecisionKind::Option, "fast_math", "on"}, Decision{DecisionKind::Rewrite, winograd, "winograd=4"},
        Decision{DecisionKind::Layout, "dot.1", "0,1/-/-"}})
    CHECK_FALSE(allows_difference({d}, InputKind::Ordinary, true));
}

TEST_CASE("differences are allowed where decisions say so", "[input_kind]") {
  const Decisions fast = {{DecisionKind::Option, "fast_math", "on"}};
  const Decisions other = {{DecisionKind::Option, "vector_width", "512"}};
  const Decisions winograd = {{DecisionKind::Rewrite, "convolution:f32[1,8,8,4]*f32[3,3,4,4]", "winograd=4"}};
  CHECK(allows_difference(fast, InputKind::Special, false));
  CHECK_FALSE(allows_difference(other, InputKind::Special, true));
  CHECK_FALSE(allows_difference({}, InputKind::Special, true));
  CHECK(allows_difference(winograd, InputKind::Special, true));
  CHECK_FALSE(allows_difference(winograd, InputKind::Special, false));  // finite numbers differ as well
  CHECK_FALSE(allows_difference(winograd, InputKind::Large, false));
  CHECK(allows_difference(other, InputKind::Large, true));  // overflow depends on the order of sums
  CHECK_FALSE(allows_difference(other, InputKind::Ties, true));
  CHECK(allows_difference(other, InputKind::Denormal, false));
}

}  // namespace hone
