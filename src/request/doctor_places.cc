// The checks of hone doctor about what lies where: the wheel with XLA, libraries and packages beside it, and the cache.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "request/doctor.h"
#include "request/program.h"

namespace hone::request {

namespace fs = std::filesystem;

namespace {

// The library that process `pid` has mapped under this name; empty if there is none.
fs::path mapped_library(const std::string& pid, const std::string& name) {
  std::ifstream maps("/proc/" + pid + "/maps");
  for (std::string line; std::getline(maps, line);)
    if (const size_t path = line.find('/'); path != line.npos && line.ends_with("/" + name)) return line.substr(path);
  return {};
}

// "2.21.0" of the wheel NAME-2.21.0.dist-info in site-packages; empty without it.
std::string wheel_version(const fs::path& site, const std::string& name) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(site, none)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with(name + "-") && file.ends_with(".dist-info"))
      return file.substr(name.size() + 1, file.size() - name.size() - 1 - std::string(".dist-info").size());
  }
  return "";
}

}  // namespace

std::string folder_of_wheels() {
  std::error_code none;
  for (const auto& task : fs::directory_iterator("/proc/self/task", none)) {
    std::ifstream children(task.path() / "children");
    for (std::string pid; children >> pid;)
      if (const fs::path library = mapped_library(pid, "libtensorflow_cc.so.2"); !library.empty())
        return library.parent_path().parent_path().string();
  }
  return "";
}

Check wheel_check(const std::string& site) {
  if (site.empty())
    return {"XLA wheel", CheckStatus::Warning, "the worker does not show where its XLA lies", "see hone worker"};
  const std::string version = wheel_version(site, "tensorflow_cpu");
  return {"XLA wheel", CheckStatus::Ok,
          fmt::format("{} in {}", version.empty() ? "tensorflow" : "tensorflow-cpu " + version, site)};
}

Check onednn_check(const std::string& site) {
  std::error_code none;
  // Of a build's environment, of the wheel of oneDNN and of Hone's own.
  for (const char* folder : {"../..", "onednn_cpu_gomp.libs", "hone/lib"})
    if (const fs::path library = fs::path(site) / folder / "libdnnl.so.3"; !site.empty() && fs::exists(library, none))
      return {"oneDNN", CheckStatus::Ok, library.lexically_normal().string()};
  return {
      "oneDNN", CheckStatus::Warning, "libdnnl.so.3 is not beside the wheels",
      "convolutions and dots of other libraries are still tried; pip install onednn-cpu-gomp in the same environment"};
}

Check jax_check(const std::string& site) {
  const std::string jax = wheel_version(site, "jax"), jaxlib = wheel_version(site, "jaxlib");
  if (!jax.empty() && !jaxlib.empty())
    return {"JAX", CheckStatus::Ok, fmt::format("jax {} and jaxlib {} beside XLA's wheel", jax, jaxlib)};
  return {"JAX", CheckStatus::Warning, "not installed beside XLA's wheel",
          "hone.jit and tuning of JAX functions need it: pip install jax; files of programs do not"};
}

Check cache_check(const std::string& folder) {
  if (folder.empty())
    return {"cache", CheckStatus::Warning, "there is no home folder for compiled code",
            "give --cache FOLDER, or every run compiles all again"};
  std::error_code none;
  fs::path place = fs::absolute(folder);
  const bool exists = fs::exists(place, none);
  while (place.has_relative_path() && !fs::exists(place, none)) place = place.parent_path();
  if (!fs::is_directory(place, none) || ::access(place.c_str(), W_OK | X_OK) != 0)
    return {"cache", CheckStatus::Warning, folder + " cannot be written",
            "give --cache FOLDER, or every run compiles all again"};
  if (!exists) return {"cache", CheckStatus::Ok, folder + " does not exist yet and can be created"};
  double bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder, none))
    if (entry.is_regular_file(none)) bytes += static_cast<double>(entry.file_size(none));
  return {"cache", CheckStatus::Ok, fmt::format("{}, {}", folder, human_bytes(bytes))};
}

}  // namespace hone::request
