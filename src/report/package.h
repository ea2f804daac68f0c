// NAME.hone/: a tuned program with everything needed to run it again.
//   program.pb      the program as loaded (HloModuleProto)
//   tuned.hlo       the lowered module under the chosen decisions, as text
//   decisions.json  the decisions to apply, their gain, and where and with what they were found (graph/made_with.h)
//   code/           machine code of earlier loads by the runtime library (src/xla/service/runtime_program.h), if any
//   report.json     the whole report; report.txt, the same as the terminal's table
#pragma once

#include <string>

#include "report/report.h"

namespace hone::report {

struct Package {
  std::string program_bytes;  // of program.pb
  std::string tuned_hlo;
  std::string file;  // the program's original file name
  TuneReport report;
};

// The contents of a package.
struct LoadedPackage {
  std::string program_bytes, name, file;
  std::string fingerprint, tuned_fingerprint, xla_version, host;
  MadeWith made_with;  // of older versions at most XLA's version
  tune::Target target;
  Decisions decisions;
  double speedup = 1;
};

bool is_package(const std::string& path);  // a folder with a decisions.json

// `output` or, when that is empty, NAME.hone in the current folder.
std::string package_path(const std::string& output, const std::string& program_name);
// Throws Error when `path` exists and may not be replaced; only packages may, or anything with `force`. Throws RunError
// when its folder cannot be written. Called before the work, so that no result is lost for the wrong name.
void check_replaceable(const std::string& path, bool force);

// Writes into a folder beside `path` and renames it, so that no half-written package is visible. Throws RunError.
void write_package(const std::string& path, const Package& package, bool force);
// Throws Error saying which file is missing or wrong.
LoadedPackage read_package(const std::string& path);

}  // namespace hone::report
