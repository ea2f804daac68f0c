#include "tune/session/decision_list.h"

#include <catch2/catch.hpp>

namespace hone::tune {

namespace {

Dimension dimension(DecisionKind kind, const std::string& key, std::vector<std::string> options, double weight = 0) {
  return {kind, key, std::move(options), 0, weight};
}

}  // namespace

TEST_CASE("merging replaces decisions about the same thing", "[tune]") {
  const Decisions base = {{DecisionKind::Codegen, "k", "loop"}, {DecisionKind::Option, "o", "1"}};
  CHECK(merged(base, {{DecisionKind::Option, "o", "2"}}) ==
        Decisions{{DecisionKind::Codegen, "k", "loop"}, {DecisionKind::Option, "o", "2"}});
  CHECK(merged({}, base) == base);
  CHECK(merged(base, {}) == base);
}

TEST_CASE("dimensions that move most come first", "[tune]") {
  const auto ordered = by_promise({dimension(DecisionKind::Option, "small", {"a", "b"}),
                                   dimension(DecisionKind::Option, "prefer_vector_width", {"a", "b"}),
                                   dimension(DecisionKind::Library, "dot1", {"a", "b"}, 0.1),
                                   dimension(DecisionKind::Fusion, "a>b", {"keep", "fuse"}),
                                   dimension(DecisionKind::Option, "multi_output_fusion", {"a", "b"}),
                                   dimension(DecisionKind::Library, "dot2", {"a", "b"}, 0.4),
                                   dimension(DecisionKind::Option, "fixed", {"a"}),
                                   dimension(DecisionKind::Weights, "3", {"as_is", "transposed"})});
  std::vector<std::string> keys;
  for (const Dimension& d : ordered) keys.push_back(d.key);
  CHECK(keys == std::vector<std::string>{"3", "dot2", "dot1", "multi_output_fusion", "prefer_vector_width", "small"});
}

TEST_CASE("broad and single dimensions are told by the rows of their kinds and families", "[tune]") {
  const Dimension option = dimension(DecisionKind::Option, "vector_width", {"default", "512"});
  const Dimension library = dimension(DecisionKind::Library, "program", {"default", "eigen"});
  const Dimension all_weights = dimension(DecisionKind::Weights, kAll, {"as-is", "transposed"});
  for (const Dimension& broad : {option, library, all_weights}) {
    INFO(broad.key);
    CHECK(is_broad(broad));
    CHECK_FALSE(is_single(broad));
  }
  const Dimension weight = dimension(DecisionKind::Weights, "3", {"as-is", "transposed"});
  const Dimension reduction = dimension(DecisionKind::Library, "reduce:add:x", {"compiled", "ynn"});
  const Dimension dot = dimension(DecisionKind::Library, "697a45820542b56f77d0f751c20b9643", {"eigen", "llvm"});
  const Dimension pooling = dimension(DecisionKind::Rewrite, "reduce-window:maximum:x", {"default", "shifted"});
  for (const Dimension& single : {weight, reduction, dot, pooling}) {
    INFO(single.key);
    CHECK(is_single(single));
    CHECK_FALSE(is_broad(single));
  }
  for (const Dimension& neither : {dimension(DecisionKind::Codegen, "k", {"loop", "tile=8"}),
                                   dimension(DecisionKind::Fusion, "a>b", {"keep", "fuse"})}) {
    CHECK_FALSE(is_broad(neither));
    CHECK_FALSE(is_single(neither));
  }
}

}  // namespace hone::tune
