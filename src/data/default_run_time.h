// What measurements of a kernel's default option say about its run time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/record.h"

namespace hone {

// Rounds of a careful duel, the effort that run times of defaults are measured with.
inline constexpr int kCarefulRounds = 6;

// The run time of a kernel's default option, ns, by its rows: the median over its careful duels with itself, each the mean of its two
// sides; without one, of its longest duels. nullopt if no row is sound.
std::optional<double> default_run_time(const std::vector<Record>& rows, const std::string& default_option);

}  // namespace hone
