#include "base/stage.h"

#include <array>

namespace hone {

namespace {
constexpr std::array<const char*, 6> kNames = {"", "load", "passes", "codegen", "run", "compare"};
static_assert(kNames.size() == static_cast<size_t>(Stage::Compare) + 1, "a stage has no name");
}  // namespace

const char* stage_name(Stage stage) { return kNames.at(static_cast<size_t>(stage)); }

std::optional<Stage> stage_from_name(const std::string& name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (name == kNames[i]) return static_cast<Stage>(i);
  return std::nullopt;
}

}  // namespace hone
