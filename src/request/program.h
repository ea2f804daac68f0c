// The program of a request: the user's options for it, and the session it is loaded in.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "report/program_file.h"
#include "tune/session/session.h"

namespace hone::request {

// How a program is compiled and run.
struct ProgramOptions {
  std::string program;  // see report::read_program()
  std::optional<int> threads;
  bool all_cores = false;  // without `threads`: as many as the cores given to this process; else 1
  std::optional<uint64_t> seed;
  std::optional<std::string> weights;  // parameters that stay constant between calls, "0,3-9"
  bool allow_fast_math = false;
  std::string
      precision;  // of declared weights and the dots that read them: kBf16Weights or kInt8Weights; empty = the program's own
  bool exact = false;     // bound rounding errors of rewritten operations more tightly (tune::kExactError)
  std::string max_isa;    // limit of the instruction set (base/isa.h); empty = the package's or the CPU's
  std::string inputs;     // .npz or .npy file; empty = the program's own or generated
  double memory_gib = 0;  // that a worker may use; 0 = four fifths of the machine's
  std::string cache;      // folder of compiled code; empty = hone/objects in the user's cache folder
  bool no_cache = false;  // compile everything

  // `threads`, or the default.
  int threads_used() const;
  // A package has its own target; explicit options take precedence. Throws Error.
  tune::Target target(const std::optional<report::LoadedPackage>& package) const;
};

struct OpenedProgram {
  report::ProgramFile file;
  std::unique_ptr<tune::Session> session;
  std::string inputs;               // "generated", "snapshot" or the file
  tune::PrecisionReport precision;  // with ProgramOptions::precision, which the loaded program has; not yet judged
};

// Reads the program, starts a worker and loads the program and its inputs into it. `budget_s`, `prepare`: tune::SessionOptions.
// Throws Error for what cannot be read, RunError when the worker cannot be started.
// Warns of constants that the file leaves out.
OpenedProgram open_program(const ProgramOptions& options, double budget_s = 0, bool prepare = false);

// Throws Error where the program has custom calls that nothing computes.
void check_runs(const OpenedProgram& opened);
// Their targets with the number of calls: "foo (3 calls), bar (1 call)".
std::string unknown_calls_text(const wire::LoadReplyT& program);
// The folder of compiled code: the one given, which must be fit for use (throws Error), or hone/objects in the user's cache
// folder; empty without a home folder, where workers keep what they compile to themselves.
std::string cache_folder(const std::string& given);

}  // namespace hone::request
