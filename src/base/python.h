// The Python that has the package `hone`.
#pragma once

#include <string>

namespace hone {

struct PythonCommand {
  std::string program;      // a path, or "python3" where none is in PATH
  std::string search_path;  // value of PYTHONPATH; empty = as inherited
};

// In a build the interpreter of the repository's virtual environment with the repository's package, in an installed wheel that of
// the environment it is installed in, else the first python3 in PATH.
PythonCommand python_with_hone();

}  // namespace hone
