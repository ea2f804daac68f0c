// What this program was built from.
#pragma once

#include <string>

namespace hone::cli {

struct Version {
  std::string hone;    // "0.2.0"
  std::string commit;  // abbreviated, with -dirty where files had changed; empty outside a repository
  std::string xla;     // "tensorflow-cpu 2.21.0", the wheel with XLA
};
Version this_version();
std::string version_text(bool json);  // of hone --version

}  // namespace hone::cli
