#include "cost/learn_loader.h"

#include <dlfcn.h>

#include <filesystem>

#include "base/error.h"
#include "base/files.h"

namespace hone::cost {

namespace {

constexpr const char* kLibrary = "libhone_learn.so";

struct Library {
  decltype(&hone_learn_run) run = nullptr;
  decltype(&hone_learn_open) open = nullptr;
  decltype(&hone_learn_free) free = nullptr;
};

template <class F>
void find(void* handle, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(handle, name));
  if (!function) throw RunError(std::string(kLibrary) + " has no " + name, "", "it does not belong to this program");
}

void* open_handle() {
  const std::filesystem::path folder = executable_dir();
  void* handle = nullptr;
  for (const auto& candidate : {folder / kLibrary, folder / ".." / "lib" / kLibrary}) {
    if (!std::filesystem::exists(candidate)) continue;
    handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      throw RunError(std::string("torch cannot be opened: ") + dlerror(), candidate.string(),
                     "install it with 'make train-tools' or pip install 'hone[train]'");
    break;
  }
  if (!handle)
    throw RunError(std::string("this needs torch, and there is no ") + kLibrary + " beside the program",
                   folder.string(), "run 'make train-tools'; of wheels, those of 'make wheel' have it");
  decltype(&hone_learn_abi) abi = nullptr;
  find(handle, "hone_learn_abi", abi);
  if (abi() != kHoneLearnAbi)
    throw RunError(std::string(kLibrary) + " is of another build", folder.string(), "run 'make train-tools'");
  return handle;  // never closed: libtorch cannot be unloaded
}

void* opened_handle() {
  static void* const handle = open_handle();
  return handle;
}

Library open_library() {
  void* const handle = opened_handle();
  Library library;
  find(handle, "hone_learn_run", library.run);
  find(handle, "hone_learn_open", library.open);
  find(handle, "hone_learn_free", library.free);
  return library;
}

const Library& library() {
  static const Library opened = open_library();
  return opened;
}

std::string take(char* text) {
  const std::string copy = text ? text : "";
  library().free(text);
  return copy;
}

[[noreturn]] void throw_error(const std::string& text) {
  const nlohmann::json error = nlohmann::json::parse(text);
  const std::string kind = error.at("kind"), message = error.at("message");
  if (kind == "error") throw Error(message, error.at("where"), error.at("hint"));
  if (kind == "run") throw RunError(message, error.at("where"), error.at("hint"));
  throw InternalError(message);
}

}  // namespace

void* learn_symbol(const char* name) {
  int (*function)() = nullptr;
  find(opened_handle(), name, function);
  return reinterpret_cast<void*>(function);
}

std::unique_ptr<LearnedModel> open_weights_file(const std::string& path, int threads) {
  char* error = nullptr;
  std::unique_ptr<LearnedModel> model(library().open(path.c_str(), threads, &error));
  if (!model) throw_error(take(error));
  return model;
}

nlohmann::json run_learn_command(const std::string& command, const nlohmann::json& request, const LearnHost& host) {
  char* response = nullptr;
  const int status = library().run(command.c_str(), request.dump().c_str(), &host, &response);
  const std::string text = take(response);
  if (status != 0) throw_error(text);
  return nlohmann::json::parse(text);
}

}  // namespace hone::cost
