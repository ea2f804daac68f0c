// The program of a request: what a user says about it, and the session it is open in.
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
  std::string program;  // as report::read_program() takes it
  std::optional<int> threads;
  std::optional<uint64_t> seed;
  std::optional<std::string> weights;  // parameters that stay constant between calls, "0,3-9"
  bool allow_fast_math = false;
  std::string inputs;     // .npz or .npy file; empty = the program's own or generated
  double memory_gib = 0;  // that a worker may use; 0 = four fifths of the machine's
  std::string cache;      // folder of compiled code; empty = hone/objects in the user's cache folder
  bool no_cache = false;  // compile everything

  // A package brings its own target; options given explicitly win. Throws Error.
  tune::Target target(const std::optional<report::LoadedPackage>& package) const;
};

struct OpenedProgram {
  report::ProgramFile file;
  std::unique_ptr<tune::Session> session;
  std::string inputs;  // "generated", "snapshot" or the file
};

// Reads the program, starts a worker and loads the program and its inputs into it. `budget_s` as in tune::SessionOptions.
// Throws Error for what cannot be read, RunError when the worker cannot be started.
OpenedProgram open_program(const ProgramOptions& options, double budget_s = 0);

}  // namespace hone::request
