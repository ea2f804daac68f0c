// Random fusion configurations: what collections lower besides XLA's own fusion, and where diverse chains of a fusion search
// begin.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/decision.h"

namespace hone {

// A random fusion configuration: each edge of a random subset is decided by a coin. The same for the same arguments.
Decisions random_fusion(const std::vector<Dimension>& edges, const std::string& program, int configuration,
                        uint64_t seed);

}  // namespace hone
