// Converts absl::Status to Hone's exceptions and adds the stage at which they happened.
#pragma once
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/error.h"
#include "base/stage.h"

namespace hone::xla_side {

inline std::string one_line(absl::string_view text, size_t limit = 300) {
  std::string line(text.substr(0, limit));
  for (char& c : line)
    if (c == '\n' || c == '\t' || c == '\r') c = ' ';
  return line;
}

// what: "parse", "compile", "run". Bad input throws Error, everything else RunError.
inline void check(const absl::Status& status, const std::string& what, bool bad_input = false) {
  if (status.ok()) return;
  const std::string message = what + ": " + one_line(status.message());
  if (bad_input) throw Error(message);
  throw RunError(message);
}

template <class T>
T take(absl::StatusOr<T> value, const std::string& what, bool bad_input = false) {
  check(value.status(), what, bad_input);
  return *std::move(value);
}

// The result of `work`. A RunError in it is rethrown as StageError with this stage, unless it already has one.
template <class Work>
decltype(auto) at_stage(Stage stage, Work&& work) {
  try {
    return work();
  } catch (const StageError&) {
    throw;
  } catch (const RunError& failed) {
    throw StageError(stage, failed.what(), failed.where(), failed.hint());
  }
}

}  // namespace hone::xla_side
