// That a worker of this build passed its self-test, which takes a second, is kept from one test to the next.
#pragma once

#include <string>

#include "base/files.h"

namespace hone {

// WorkerOptions::self_test_folder of tests that are not about it. It goes when the process ends.
inline std::string passed_self_tests() {
  static const TempDir folder("hone-self-tests");
  return folder.path().string();
}

}  // namespace hone
