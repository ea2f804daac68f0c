#include "base/python.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/files.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) { return ::access(path.c_str(), X_OK) == 0; }

std::string first_in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const fs::path candidate = fs::path(rest.substr(0, end)) / name;
    if (end > 0 && is_program(candidate)) return candidate.string();
    rest.erase(0, std::min(end + 1, rest.size()));
  }
  return name;
}

// PREFIX/bin/python3 of PREFIX/lib/pythonX.Y/site-packages/hone/bin; empty for other folders.
fs::path of_wheel(const fs::path& folder) {
  const fs::path packages = folder.parent_path().parent_path();
  if (packages.filename() != "site-packages") return {};
  return packages.parent_path().parent_path().parent_path() / "bin" / "python3";
}

}  // namespace

PythonCommand python_with_hone() {
  const fs::path folder = executable_dir(), root = folder.parent_path();
  PythonCommand found;
  for (const fs::path& own : {root / ".venv" / "bin" / "python", of_wheel(folder)})
    if (found.program.empty() && !own.empty() && is_program(own)) found.program = own.string();
  if (found.program.empty()) found.program = first_in_path("python3");
  if (!fs::exists(root / "python" / "hone" / "version.py")) return found;
  const char* inherited = std::getenv("PYTHONPATH");
  found.search_path = (root / "python").string();
  if (inherited != nullptr && *inherited != 0) found.search_path += std::string(":") + inherited;
  return found;
}

}  // namespace hone
