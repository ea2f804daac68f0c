// Options of a session with the worker of this build.
#pragma once

#include <string>

#include "passorder/pass_session.h"
#include "tests/passed_self_tests.h"

namespace hone::passorder {

inline PassSessionOptions session_options() {
  PassSessionOptions options;
  options.worker.program = std::string(HONE_BUILD_DIR) + "/hone-xla";
  options.worker.self_test_folder = passed_self_tests();
  return options;
}

}  // namespace hone::passorder
