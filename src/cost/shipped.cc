#include "cost/shipped.h"

#include <filesystem>
#include <vector>

#include "base/files.h"

namespace hone::cost {

namespace fs = std::filesystem;

namespace {

// Folders of shipped data: below data of a build and share/hone of an installation.
std::vector<fs::path> data_folders(const std::string& name) {
  const fs::path above = executable_dir().parent_path();
  return {above / "data" / name, above / "share" / "hone" / name};
}

}  // namespace

std::string shipped_model(const std::string& name, const std::string& models) {
  std::vector<fs::path> folders = data_folders("models");
  if (!models.empty()) folders.insert(folders.begin(), fs::path(models));
  for (const fs::path& folder : folders)
    if (fs::exists(folder / name)) return (folder / name).string();
  return "";
}

std::string shipped_file(const std::string& name) {
  for (const fs::path& file : data_folders(name))
    if (fs::is_regular_file(file)) return file.string();
  return "";
}

std::string shipped_folder(const std::string& name) {
  for (const fs::path& folder : data_folders(name))
    if (fs::exists(folder)) return folder.string();
  return "data/" + name;
}

}  // namespace hone::cost
