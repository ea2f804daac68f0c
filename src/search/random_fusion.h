// Random fusion configurations, for collections and for the starts of diverse chains of a fusion search.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/decision.h"

namespace hone {

// A random fusion configuration: each edge of a random subset is decided at random. Deterministic in its arguments.
Decisions random_fusion(const std::vector<Dimension>& edges, const std::string& program, int configuration,
                        uint64_t seed);

}  // namespace hone
