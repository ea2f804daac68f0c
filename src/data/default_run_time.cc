#include "data/default_run_time.h"

#include <algorithm>

#include "base/stats.h"

namespace hone {

std::optional<double> default_run_time(const std::vector<Record>& rows, const std::string& default_option) {
  std::vector<double> visits;
  int rounds = 0;  // of the duels that the visits are of
  for (const Record& row : rows) {
    if (row.status != "ok" || row.decisions != default_option) continue;
    const int of_row = std::min(row.rounds, kCarefulRounds);  // careful duels are equally good
    if (of_row < rounds) continue;
    if (of_row > rounds) visits.clear();
    rounds = of_row;
    visits.push_back(0.5 * (row.baseline_ns + row.candidate_ns));
  }
  if (visits.empty()) return std::nullopt;
  return median(visits);
}

}  // namespace hone
