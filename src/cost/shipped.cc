#include "cost/shipped.h"

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/files.h"

namespace hone::cost {

std::string shipped_model(const std::string& name) {
  namespace fs = std::filesystem;
  std::vector<fs::path> folders;
  if (const char* chosen = std::getenv("HONE_MODELS")) folders.emplace_back(chosen);
  const fs::path above = executable_dir().parent_path();
  folders.push_back(above / "data" / "models");
  folders.push_back(above / "share" / "hone" / "models");
  for (const fs::path& folder : folders)
    if (fs::exists(folder / name)) return (folder / name).string();
  return "";
}

}  // namespace hone::cost
