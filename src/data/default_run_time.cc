#include "data/default_run_time.h"

#include <algorithm>

#include "base/core_probe.h"
#include "base/stats.h"

namespace hone {

namespace {

struct Visit {
  double ns = 0, core_ns = 0;
};

// Without those on a core that was slower than at another visit. At most kDisturbed times as slow as usual, a core differs by its frequency;
// beyond it, what else runs there decides how much slower a kernel is.
std::vector<double> undisturbed(const std::vector<Visit>& visits, double core_ns) {
  double best = 0;
  for (const Visit& visit : visits)
    if (visit.core_ns > 0) best = best > 0 ? std::min(best, visit.core_ns) : visit.core_ns;
  std::vector<double> times;
  for (const Visit& visit : visits)
    if (visit.core_ns <= kDisturbed * best || visit.core_ns == 0) {
      const bool scaled = core_ns > 0 && visit.core_ns > 0 && visit.core_ns <= kDisturbed * core_ns;
      times.push_back(scaled ? visit.ns * core_ns / visit.core_ns : visit.ns);
    }
  return times;
}

}  // namespace

std::optional<double> default_run_time(const std::vector<Record>& rows, const std::string& default_option,
                                       double core_ns) {
  std::vector<Visit> visits;
  int rounds = 0;  // of the duels that the visits are of
  for (const Record& row : rows) {
    if (row.status != "ok" || row.decisions != default_option) continue;
    const int of_row = std::min(row.rounds, kCarefulRounds);  // careful duels are equally good
    if (of_row < rounds) continue;
    if (of_row > rounds) visits.clear();
    rounds = of_row;
    visits.push_back({0.5 * (row.baseline_ns + row.candidate_ns), row.core_ns});
  }
  if (visits.empty()) return std::nullopt;
  return median(undisturbed(visits, core_ns));
}

void UsualCore::add(const std::vector<Record>& rows) {
  for (const Record& row : rows)
    if (row.core_ns > 0) probes_.push_back(row.core_ns);
}

double UsualCore::ns() const { return probes_.empty() ? 0 : median(probes_); }

}  // namespace hone
