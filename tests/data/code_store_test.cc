#include "data/code_store.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

namespace hone {
namespace {

TEST_CASE("code store: objects come back by kernel, option, instruction set and version") {
  const auto folder = std::filesystem::temp_directory_path() / ("hone-code-store-" + std::to_string(::getpid()));
  const CodeKey key{"f00d", "tile=8,8", "avx2", "1"};
  const std::string object(
      "\x7f"
      "ELF\0code",
      9);
  {
    CodeStore store(folder.string());
    CHECK_FALSE(store.find(key));
    CHECK(store.add(key, {.objects = {object, ""}}));
    CHECK(store.add({"f00d", "", "avx2", "1"}, {.compiled = false}));
  }
  CodeStore store(folder.string());
  const auto found = store.find(key);
  REQUIRE(found);
  CHECK(found->compiled);
  CHECK(found->objects == std::vector<std::string>{object, ""});
  CHECK_FALSE(store.find({"f00d", "tile=8,8", "avx512", "1"}));
  CHECK_FALSE(store.find({"f00d", "", "avx2", "1"})->compiled);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hone
