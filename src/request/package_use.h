// What of a package runs on this machine.
#pragma once

#include <nlohmann/json.hpp>

#include "request/program.h"

namespace hone::request {

struct PackageUse {
  Decisions decisions;  // to run under: the package's, or none where default XLA has to run in its place
  MadeWith made;
  Fit fit;
  Decisions unmatched;  // of the package's, those that match nothing in the program

  // {"as_tuned", "differences", "unmatched", "made_with"}.
  nlohmann::json json() const;
};

// Checks where and with what the package was made, and whether its decisions fit the program, which takes one run of XLA's passes;
// warns in one line of what differs. Nothing for programs that are no package. Throws Error where the package has another program
// than the one that was tuned.
std::optional<PackageUse> use_package(OpenedProgram& opened);

// To run under; none without a package.
Decisions decisions_of(const std::optional<PackageUse>& use);

}  // namespace hone::request
