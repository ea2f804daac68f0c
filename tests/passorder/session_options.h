// Options of a session with the worker of this build.
#pragma once

#include <string>

#include "passorder/pass_session.h"

namespace hone::passorder {

inline PassSessionOptions session_options() {
  PassSessionOptions options;
  options.worker.program = std::string(HONE_BUILD_DIR) + "/hone-xla";
  return options;
}

}  // namespace hone::passorder
