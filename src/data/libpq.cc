#include "data/libpq.h"

#include <dlfcn.h>

#include <string>

#include "base/error.h"

namespace hone {

// Opened once per process and never closed: some of its dependencies cannot be unloaded safely.
const Libpq& libpq() {
  static const Libpq functions = [] {
    void* library = ::dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
      throw Error("PostgreSQL's client library cannot be opened: " + std::string(::dlerror()), "libpq.so.5",
                  "install Debian's package libpq5, or name a file with --db");
    Libpq found;
#define ROW(name)                                                            \
  found.name = reinterpret_cast<decltype(&::name)>(::dlsym(library, #name)); \
  if (found.name == nullptr) throw Error("libpq.so.5 has no " #name, "libpq.so.5", "install a newer libpq5");
    HONE_LIBPQ(ROW)
#undef ROW
    return found;
  }();
  return functions;
}

}  // namespace hone
