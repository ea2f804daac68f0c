// The functions exported by libhone_learn.so. Exceptions are converted to text here.
#include <ATen/Parallel.h>

#include <cstring>

#include "base/error.h"
#include "cost/learn_abi.h"
#include "cost/learn_library.h"
#include "learn/commands.h"
#include "learn/nets/trained.h"

#define HONE_EXPORT __attribute__((visibility("default")))

namespace {

char* copy(const std::string& text) {
  char* out = static_cast<char*>(std::malloc(text.size() + 1));
  if (out) std::memcpy(out, text.c_str(), text.size() + 1);
  return out;
}

char* describe(const char* kind, const std::string& message, const std::string& where = "",
               const std::string& hint = "") {
  return copy(nlohmann::json{{"kind", kind}, {"message", message}, {"where", where}, {"hint", hint}}.dump());
}

// Runs `work`; on an exception leaves its description in `error` and returns false.
template <class Work>
bool guarded(Work&& work, char** error) {
  try {
    work();
    return true;
  } catch (const hone::RunError& e) {
    *error = describe("run", e.what(), e.where(), e.hint());
  } catch (const hone::Error& e) {
    *error = describe("error", e.what(), e.where(), e.hint());
  } catch (const c10::Error& e) {
    *error = describe("internal", e.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    *error = describe("run", "out of memory");
  } catch (const std::exception& e) {
    *error = describe("internal", e.what());
  }
  return false;
}

}  // namespace

extern "C" {

HONE_EXPORT int hone_learn_abi() { return kHoneLearnAbi; }

HONE_EXPORT int hone_learn_run(const char* command, const char* request, const hone::cost::LearnHost* host,
                               char** response) {
  const bool fine = guarded(
      [&] {
        hone::cost::set_up_library_log(host->verbosity);
        for (const hone::learn::LearnCommand& row : hone::learn::learn_commands())
          if (std::strcmp(row.name, command) == 0) {
            *response = copy(row.run(nlohmann::json::parse(request), *host).dump());
            return;
          }
        throw hone::InternalError(std::string("unknown command of the learning library: ") + command);
      },
      response);
  return fine ? 0 : 1;
}

HONE_EXPORT hone::cost::LearnedModel* hone_learn_open(const char* weights_path, int threads, char** error) {
  hone::cost::LearnedModel* model = nullptr;
  guarded(
      [&] {
        at::set_num_threads(threads);
        model = hone::learn::open_learned_model(weights_path).release();
      },
      error);
  return model;
}

HONE_EXPORT void hone_learn_free(char* text) { std::free(text); }
}
