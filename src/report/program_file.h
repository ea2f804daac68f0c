// Finds and reads the program a user names: a file in any supported format (also .gz), "-" for standard input, a folder
// XLA dumped into, or a NAME.hone package.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/package.h"

namespace hone::report {

struct ProgramFile {
  std::string bytes;                     // in one of the formats the worker loads
  std::string name;                      // file name without folder and endings; fit for a file name
  std::string file;                      // file name as found
  std::optional<LoadedPackage> package;  // when the path is a package
};

// Throws Error when there is no such file, or the folder holds no program.
ProgramFile read_program(const std::string& path);

// The program of an XLA dump folder, among file names: before optimizations rather than after, the binary form rather
// than text, and then the largest. Empty when there is none.
struct DumpFile {
  std::string name;
  uint64_t bytes = 0;
  int64_t modified = 0;  // any clock
};
std::string pick_dump_file(const std::vector<DumpFile>& files);

// "dir/module_0001.jit_f.before_optimizations.hlo.pb.gz" -> "module_0001.jit_f".
std::string program_name(const std::string& path);

}  // namespace hone::report
