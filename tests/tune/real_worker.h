// The worker of this build, for tests that need XLA itself.
#pragma once

#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/passed_self_tests.h"
#include "tests/skip.h"
#include "tune/session/session.h"

namespace hone::tune {

inline SessionOptions with_worker() {
  SessionOptions options;
  options.worker.program = HONE_BUILD_DIR "/hone-xla";
  options.worker.self_test_folder = passed_self_tests();
  return options;
}

// True, with a warning, where the worker is not built: the test should end.
inline bool no_worker() {
  const std::string program = with_worker().worker.program;
  if (::access(program.c_str(), X_OK) == 0) return false;
  skip_case("no worker at " + program);
  return true;
}

}  // namespace hone::tune
