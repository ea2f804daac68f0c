#include "base/stage.h"

#include <catch2/catch.hpp>

namespace hone {

TEST_CASE("stages are found by their names", "[base]") {
  for (Stage stage : {Stage::None, Stage::Load, Stage::Passes, Stage::Codegen, Stage::Run, Stage::Compare})
    CHECK(stage_from_name(stage_name(stage)) == stage);
  CHECK(stage_from_name("") == Stage::None);
  CHECK_FALSE(stage_from_name("linking"));
}

TEST_CASE("an error at a stage is a failed run", "[base]") {
  try {
    throw StageError(Stage::Codegen, "no such instruction", "kernel k1", "update XLA");
  } catch (const RunError& error) {
    CHECK(error.where() == "kernel k1");
    CHECK(error.hint() == "update XLA");
    REQUIRE(dynamic_cast<const StageError*>(&error));
    CHECK(dynamic_cast<const StageError*>(&error)->stage() == Stage::Codegen);
  }
}

}  // namespace hone
