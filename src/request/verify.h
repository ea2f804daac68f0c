// Verification of a program: outputs under random or given decisions beside default XLA's, and default XLA's beside those of XLA's
// HLO interpreter, on inputs of several kinds.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "request/program.h"
#include "tune/session/output_check.h"

namespace hone::request {

enum class VerifyStatus : int8_t {
  Equal = 0,  // within the tolerance
  Allowed,    // differs as a decision says that it may (graph/allowed_difference.h)
  Differs,
  Unverifiable,  // the outputs prove nothing, the interpreter does not run the program, or default XLA fails
  CompileFailed,
  Crashed,
  TimedOut,
  RunFailed,
};
inline constexpr int kVerifyStatuses = 8;
const char* verify_status_name(VerifyStatus status);  // "equal", "compile_failed", ...
bool is_fault(VerifyStatus status);                   // what differs or fails

// One pair of decisions and kind of inputs.
struct VerifyRow {
  Decisions decisions;       // none: default XLA
  bool interpreter = false;  // beside XLA's interpreter instead of default XLA
  InputKind inputs = InputKind::Ordinary;
  VerifyStatus status = VerifyStatus::Unverifiable;
  tune::OutputCheck check;
  std::string reproducer;  // folder; empty = none was written
};

// {"against", "decisions", "inputs", "status", "note", "max_error", ...}; `seed`: of the inputs.
nlohmann::json to_json(const VerifyRow& row, uint64_t seed);

struct VerifyOptions {
  int candidates = 10;
  std::vector<Decisions> given = {};  // before the random ones
  std::vector<InputKind> kinds;
  bool interpreter = true;
  double limit_s = 60;  // of one comparison; past it the worker is killed
  std::function<bool()> should_stop;
  std::function<void(VerifyRow&)> on_row;             // may set `reproducer`
  std::function<void(int done, int of)> on_progress;  // pairs
};

// Kinds that change none of the program's inputs have no rows. A candidate that does not compile, crashes or takes too long is not
// tried on further kinds: its rows say so. Throws Error for programs that cannot be lowered.
std::vector<VerifyRow> verify(tune::Session& session, const VerifyOptions& options);

// Writes what repeats the row into a folder: the program, decisions.txt, row.json and command.txt. Throws RunError.
void write_reproducer(const std::string& folder, const OpenedProgram& opened, const VerifyRow& row);

}  // namespace hone::request
