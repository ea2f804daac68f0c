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
// sides; without one, of its longest duels. Of those whose core was watched, the ones on a disturbed core do not count
// (base/core_probe.h), and the others are as on a core whose probe takes `core_ns`, in as many cycles; 0: as measured. nullopt if no row
// is sound.
std::optional<double> default_run_time(const std::vector<Record>& rows, const std::string& default_option,
                                       double core_ns = 0);

// The usual core of a machine: the median probe of its rows whose core was watched.
class UsualCore {
 public:
  void add(const std::vector<Record>& rows);
  double ns() const;  // 0 without a row

 private:
  std::vector<double> probes_;
};

}  // namespace hone
