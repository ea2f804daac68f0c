#include "passorder/gym_api_errors.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace hone::passorder {
namespace {

using nlohmann::json;

thread_local std::string last_error = "{}";

void fail(const char* kind, const std::string& message, const std::string& where = "", const std::string& hint = "") {
  last_error = json({{"kind", kind}, {"message", message}, {"where", where}, {"hint", hint}})
                   .dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

const char* last_error_text() { return last_error.c_str(); }

bool guarded(const std::function<void()>& work) {
  try {
    work();
    return true;
  } catch (const RunError& e) {
    fail("run", e.what(), e.where(), e.hint());
  } catch (const Error& e) {
    fail("input", e.what(), e.where(), e.hint());
  } catch (const json::exception& e) {
    fail("input", e.what(), "options");
  } catch (const std::exception& e) {
    fail("internal", e.what());
  }
  return false;
}

}  // namespace hone::passorder
