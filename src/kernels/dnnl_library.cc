#include "kernels/dnnl_library.h"

#include <dlfcn.h>

#include "kernels/dnnl_version.h"

namespace hone {
namespace {

template <class Function>
bool find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
  return function != nullptr;
}

// False where a function is missing.
bool fill(DnnlLibrary& library) {
  void* handle = ::dlopen("libdnnl.so.3", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return false;
  bool all = find(handle, "omp_set_num_threads", library.omp_set_num_threads) &&
             find(handle, "omp_get_max_threads", library.omp_get_max_threads);
#define HONE_DNNL_FIND(name) all = all && find(handle, "dnnl_" #name, library.name);
  HONE_DNNL_FUNCTIONS(HONE_DNNL_FIND)
#undef HONE_DNNL_FIND
  return all && library.engine_create(&library.engine, dnnl_cpu, 0) == dnnl_success;
}

}  // namespace

std::string DnnlLibrary::version_text() const {
  const dnnl_version_t* v = version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

std::string dnnl_version() {
  const DnnlLibrary* library = dnnl_library();
  return library ? library->version_text() : "";
}

const DnnlLibrary* dnnl_library() {
  static const DnnlLibrary* const opened = []() -> const DnnlLibrary* {
    static DnnlLibrary library;
    return fill(library) ? &library : nullptr;
  }();
  return opened;
}

}  // namespace hone
