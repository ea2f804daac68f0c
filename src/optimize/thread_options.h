// How a program's threads work, where it has several: how they wait for work, and whether one is enough. No model knows what a second
// thread brings, and duels tell (docs/decisions/0077-threads-after-a-duel.md).
#pragma once

#include <vector>

#include "optimize/guard.h"

namespace hone::optimize {

// Of the program's dimensions; empty for a target of one thread.
std::vector<DuelCandidate> thread_candidates(const std::vector<Dimension>& dimensions);

}  // namespace hone::optimize
