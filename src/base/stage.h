// The stages from loading a program to comparing its outputs, and the error that names the stage that failed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"

namespace hone {

enum class Stage : int8_t { None = 0, Load, Passes, Codegen, Run, Compare };
const char* stage_name(Stage stage);                            // "load", "passes", ...; "" for None
std::optional<Stage> stage_from_name(const std::string& name);  // nullopt for other names

// A valid request failed at this stage.
class StageError : public RunError {
 public:
  StageError(Stage stage, const std::string& message, std::string where = "", std::string hint = "")
      : RunError(message, std::move(where), std::move(hint)), stage_(stage) {}
  Stage stage() const { return stage_; }

 private:
  Stage stage_;
};

}  // namespace hone
