#include "graph/decision.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "base/error.h"

using namespace hone;

namespace {

Space small_space() {
  return {{{DecisionKind::Option, "width", {"256", "512"}, 0, 0},
           {DecisionKind::Codegen, "k", {"loop", "tile=8,8;unroll=0", "tile=1,16"}, 1, 0},
           {DecisionKind::Fusion, "a>b", {"fuse", "keep"}, 0, 0}}};
}

}  // namespace

TEST_CASE("decision kinds have names and back") {
  for (int i = 0; i <= static_cast<int>(DecisionKind::Passes); ++i) {
    const auto kind = static_cast<DecisionKind>(i);
    CHECK(decision_kind_from_name(decision_kind_name(kind)) == kind);
  }
  CHECK(std::string(decision_kind_name(DecisionKind::Weights)) == "weights");
  CHECK(decision_kind_from_name("kernel") == DecisionKind::Codegen);  // as versions before 0.2 wrote it
  CHECK(decision_kind_from_name("tile") == DecisionKind::Codegen);    // as they took it on the command line
  CHECK(decision_kind_from_name("pass") == DecisionKind::Passes);
  CHECK_THROWS_AS(decision_kind_from_name("Fusion"), Error);
  CHECK_THROWS_AS(decision_kind_from_name(""), Error);
  CHECK_THROWS_AS(decision_kind_from_name("kernel tile"), Error);  // two names are none
  CHECK_THROWS_AS(decision_kind_name(static_cast<DecisionKind>(50)), InternalError);
}

TEST_CASE("rows of the kinds stand at their kinds and say for people what is decided") {
  CHECK(decision_kinds().size() == kDecisionKinds);
  for (const DecisionTraits& row : decision_kinds()) {
    CHECK(&decision_traits(row.kind) == &row);
    CHECK(std::string(row.words).size() > std::string(row.name).size());
  }
  CHECK(decision_traits(DecisionKind::Weights).grouped);
  CHECK_FALSE(decision_traits(DecisionKind::Option).grouped);
  CHECK_THROWS_AS(decision_traits(static_cast<DecisionKind>(-1)), InternalError);
}

TEST_CASE("decision lists read back from their text") {
  const Decisions decisions = {{DecisionKind::Fusion, "a|b>c", "keep"},
                               {DecisionKind::Codegen, "k", "tile=8,8;slp=0"},
                               {DecisionKind::Layout, "dot=1", "0,1/-\\/-"},
                               {DecisionKind::Passes, "order", "cse,dce"}};
  CHECK(decisions_from_text(to_text(decisions)) == decisions);
  const Decisions with_nul = {{DecisionKind::Codegen, std::string("k\0|", 3), std::string("a\0b", 3)}};
  CHECK(decisions_from_text(to_text(with_nul)) == with_nul);
  CHECK(decisions_from_text("").empty());
  CHECK_THROWS_AS(decisions_from_text("fusion"), Error);
  CHECK_THROWS_AS(decisions_from_text("fusion a>b"), Error);
  CHECK_THROWS_AS(decisions_from_text("nothing a=b"), Error);
}

TEST_CASE("decisions of versions before 0.2 are converted") {
  CHECK(decisions_from_text("kernel k=loop|library convolution:x=shifted|library reduce:add:y=ynnpack|library "
                            "reduce-window:maximum:z=shifted|library program=eigen|pass order=cse") ==
        Decisions{{DecisionKind::Codegen, "k", "loop"},
                  {DecisionKind::Library, "program", "eigen"},
                  {DecisionKind::Library, "reduce:add:y", "ynn"},
                  {DecisionKind::Rewrite, "convolution:x", "shifted"},
                  {DecisionKind::Rewrite, "reduce-window:maximum:z", "shifted"},
                  {DecisionKind::Passes, "order", "cse"}});
}

TEST_CASE("old texts of decisions are converted if they are valid, else returned unchanged") {
  CHECK(present_text("library convolution:x=shifted|pass order=cse") ==
        "rewrite convolution:x=shifted|passes order=cse");
  CHECK(present_text("codegen k=loop") == "codegen k=loop");
  CHECK(present_text("codegen k=loop|kernel j=loop") == "codegen j=loop|codegen k=loop");
  CHECK(present_text("kernel k") == "kernel k");
  CHECK(present_text("").empty());
}

TEST_CASE("a space knows its default, its size and what is legal") {
  const Space space = small_space();
  CHECK(space.default_choice() == Choice{0, 1, 0});
  CHECK(space.size() == 12);
  CHECK(Space{}.size() == 1);
  CHECK(space.is_legal({1, 2, 1}));
  CHECK_FALSE(space.is_legal({1, 3, 1}));
  CHECK_FALSE(space.is_legal({-1, 0, 0}));
  CHECK_FALSE(space.is_legal({0, 0}));
  Space wide;
  wide.dimensions.assign(100, {DecisionKind::Option, "o", {"a", "b", "c"}, 0, 0});
  CHECK(wide.size() == 1e18);
}

TEST_CASE("choices and decisions are each other's inverse over a whole space") {
  const Space space = small_space();
  std::set<std::string> texts;
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 3; ++b)
      for (int c = 0; c < 2; ++c) {
        const Choice choice = {a, b, c};
        const Decisions decisions = space.decisions(choice);
        CHECK(std::is_sorted(decisions.begin(), decisions.end()));
        CHECK(space.choice(decisions) == choice);
        texts.insert(to_text(decisions));
      }
  CHECK(texts.size() == 12);
  CHECK(space.decisions(space.default_choice()).empty());
  CHECK_THROWS_AS(space.decisions({9, 9, 9}), InternalError);
}

TEST_CASE("decisions that do not belong to the space are errors") {
  const Space space = small_space();
  CHECK_THROWS_AS(space.choice({{DecisionKind::Codegen, "other", "loop"}}), Error);
  CHECK_THROWS_AS(space.choice({{DecisionKind::Library, "k", "loop"}}), Error);
  CHECK_THROWS_AS(space.choice({{DecisionKind::Codegen, "k", "tile=3"}}), Error);
  CHECK_THROWS_AS(space.choice({{DecisionKind::Codegen, "k", "loop"}, {DecisionKind::Codegen, "k", "tile=1,16"}}),
                  Error);
}

TEST_CASE("the text of decisions is one line and unambiguous") {
  CHECK(to_text({}) == "");
  CHECK(to_text({{DecisionKind::Fusion, "a>b", "keep"}, {DecisionKind::Codegen, "k", "tile=8,8;slp=0"}}) ==
        "fusion a>b=keep|codegen k=tile=8,8;slp=0");
  const Decisions one = {{DecisionKind::Option, "a", "b|option c=d"}};
  const Decisions two = {{DecisionKind::Option, "a", "b"}, {DecisionKind::Option, "c", "d"}};
  CHECK(to_text(one) != to_text(two));
  CHECK(to_text({{DecisionKind::Option, "a=b", "c"}}) != to_text({{DecisionKind::Option, "a", "b=c"}}));
  CHECK(to_text({{DecisionKind::Option, "a\nb", "c"}}).find('\n') == std::string::npos);
}
