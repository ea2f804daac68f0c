#include "search/random_fusion.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

namespace hone {

TEST_CASE("random fusions are legal, distinct and reproducible", "[search]") {
  std::vector<Dimension> edges;
  for (int i = 0; i < 30; ++i)
    edges.push_back({DecisionKind::Fusion, "p>c" + std::to_string(i), {"keep", "fuse"}, i % 2});
  Space space{edges};
  std::set<std::string> seen;
  for (int c = 1; c <= 40; ++c) {
    const Decisions decisions = random_fusion(edges, "program", c, 7);
    CHECK(decisions == random_fusion(edges, "program", c, 7));
    CHECK(space.decisions(space.choice(decisions)) == decisions);
    seen.insert(to_text(decisions));
  }
  CHECK(seen.size() > 30);
  CHECK(random_fusion(edges, "program", 1, 7) != random_fusion(edges, "program", 1, 8));
}

}  // namespace hone
