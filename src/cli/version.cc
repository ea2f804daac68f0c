#include "cli/version.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/xla_version.h"
#include "cli/build_version.h"  // generated at every build (version.cmake)

namespace hone::cli {

Version this_version() { return {kHoneVersion, kHoneCommit, kXlaVersion}; }

std::string version_text(bool json) {
  const Version v = this_version();
  const std::string commit = v.commit.empty() ? "" : "commit " + v.commit + ", ";
  if (!json) return fmt::format("hone {} ({}XLA of {})", v.hone, commit, v.xla);
  const nlohmann::json known = v.commit.empty() ? nlohmann::json() : nlohmann::json(v.commit);
  return nlohmann::json({{"version", v.hone}, {"commit", known}, {"xla_version", v.xla}}).dump();
}

}  // namespace hone::cli
