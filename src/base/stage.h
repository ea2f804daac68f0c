// How far a program gets on its way to a measurement, and the error that says where it stopped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"

namespace hone {

enum class Stage : int8_t { None = 0, Load, Passes, Codegen, Run, Compare };
const char* stage_name(Stage stage);                            // "load", "passes", ...; "" for None
std::optional<Stage> stage_from_name(const std::string& name);  // nothing for what is no stage's name

// A request that was fine failed at this stage.
class StageError : public RunError {
 public:
  StageError(Stage stage, const std::string& message, std::string where = "", std::string hint = "")
      : RunError(message, std::move(where), std::move(hint)), stage_(stage) {}
  Stage stage() const { return stage_; }

 private:
  Stage stage_;
};

}  // namespace hone
