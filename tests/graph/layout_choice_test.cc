#include "graph/layout_choice.h"

#include <catch2/catch.hpp>

#include "base/error.h"

namespace hone {

TEST_CASE("layouts of an instruction as text", "[graph]") {
  const LayoutChoice choice{{}, {0, 1}, {2, 0, 1}};
  CHECK(to_text(choice) == "-/0,1/2,0,1");
  CHECK(layout_choice_from_text("-/0,1/2,0,1") == choice);
  CHECK(to_text(LayoutChoice{}) == "default");
  CHECK(layout_choice_from_text("default").is_default());
  CHECK(layout_choice_from_text("-/-/-").is_default());
  CHECK(layout_choice_from_text("1,0/-/-").output == std::vector<int64_t>{1, 0});
  for (const char* text : {"", "-", "-/-", "-/-/", "//", "0,1", "-/0,2/-", "-/0,0/-", "-/0,/-", "-/,0/-", "-/a/-",
                           "-/-1/-", "-/0 1/-", "-/-/-/-", "-/1/-", "default/-/-"})
    CHECK_THROWS_AS(layout_choice_from_text(text), Error);
}

}  // namespace hone
