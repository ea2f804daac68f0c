#include "kernels/lapack_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "base/error.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

// What stands around the names of routines: plain, with integers of 64 bits, and in NumPy's and SciPy's wheels.
struct Naming {
  const char *before, *after;
  bool wide;
};
constexpr Naming kNamings[] = {{"scipy_", "_64_", true}, {"scipy_", "_", false}, {"", "_64_", true}, {"", "_", false}};

// What the loader has opened in this process, by path.
std::vector<std::string> opened_libraries() {
  std::vector<std::string> paths;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        if (info->dlpi_name != nullptr) static_cast<std::vector<std::string>*>(out)->push_back(info->dlpi_name);
        return 0;
      },
      &paths);
  return paths;
}

bool is_of_wheel(const fs::path& path) { return path.filename().string().starts_with("libscipy_openblas"); }

std::vector<std::string> libraries_in(const fs::path& folder) {
  std::vector<std::string> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (is_of_wheel(entry.path())) found.push_back(entry.path().string());
  std::sort(found.begin(), found.end());
  return found;
}

// In the order in which they are tried. Those that the process has open already come first: NumPy's in Python.
std::vector<std::string> candidates() {
  std::vector<std::string> all;
  const std::vector<std::string> opened = opened_libraries();
  std::copy_if(opened.begin(), opened.end(), std::back_inserter(all), is_of_wheel);
  const fs::path wheels = folder_of_wheels();
  if (!wheels.empty())
    for (const char* wheel : {"numpy.libs", "scipy.libs"})
      for (const std::string& path : libraries_in(wheels / wheel)) all.push_back(path);
  for (const char* name : {"libopenblas.so.0", "liblapack.so.3"}) all.push_back(name);
  return all;
}

// Of all LapackThreads.
struct Limits {
  std::mutex mutex;
  int count = 0, before = 0;
};
Limits& limits() {
  static Limits& one = *new Limits;
  return one;
}

}  // namespace

// XLA's library lies in the folder of one of them.
std::string folder_of_wheels() {
  for (const fs::path path : opened_libraries())
    if (path.filename().string().starts_with("libtensorflow_")) return path.parent_path().parent_path().string();
  return "";
}

LapackLibrary::LapackLibrary(const std::string& path)
    : path_(path), handle_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) throw Error("cannot be opened", path);
  for (const Naming& naming : kNamings) {
    before_ = naming.before;
    after_ = naming.after;
    wide_ = naming.wide;
    if (find("spotrf") != nullptr && find("zgesdd") != nullptr && find("strsm") != nullptr) break;
    before_.clear();
    after_.clear();
  }
  if (after_.empty()) throw Error("has no LAPACK", path);
  for (const char* after : {"64_", ""}) {
    if (get_threads_ != nullptr && set_threads_ != nullptr) break;
    get_threads_ = reinterpret_cast<int (*)()>(symbol(before_ + "openblas_get_num_threads" + after));
    set_threads_ = reinterpret_cast<void (*)(int)>(symbol(before_ + "openblas_set_num_threads" + after));
  }
}

void* LapackLibrary::symbol(const std::string& name) const { return ::dlsym(handle_, name.c_str()); }
void* LapackLibrary::find(const std::string& name) const { return symbol(before_ + name + after_); }

std::string LapackLibrary::version_text() const {
  for (const char* after : {"64_", ""})
    if (void* config = symbol(before_ + "openblas_get_config" + after)) {
      const std::string text = reinterpret_cast<const char* (*)()>(config)();  // "OpenBLAS 0.3.30  USE64BITINT ..."
      return text.substr(0, text.find(' ', text.find(' ') + 1));
    }
  return "LAPACK";
}

const LapackLibrary* lapack_library() {
  static const LapackLibrary* const opened = []() -> const LapackLibrary* {
    for (const std::string& path : candidates()) {
      try {
        return new LapackLibrary(path);
      } catch (const Error&) {
        continue;  // the next one
      }
    }
    return nullptr;
  }();
  return opened;
}

LapackThreads::LapackThreads(const LapackLibrary& library, int threads) : library_(library) {
  if (library_.get_threads_ == nullptr || library_.set_threads_ == nullptr) return;
  Limits& all = limits();
  const std::lock_guard lock(all.mutex);
  const int now = library_.get_threads_();
  if (all.count++ == 0) all.before = now;
  if (threads < now) library_.set_threads_(threads);
}

LapackThreads::~LapackThreads() {
  if (library_.get_threads_ == nullptr || library_.set_threads_ == nullptr) return;
  Limits& all = limits();
  const std::lock_guard lock(all.mutex);
  if (--all.count == 0 && library_.get_threads_() != all.before) library_.set_threads_(all.before);
}

LapackFunction::LapackFunction(const LapackLibrary& library, const std::string& name) : function_(library.find(name)) {
  if (function_ == nullptr) throw Error("the library has no " + name, library.path());
}

}  // namespace hone
