// Verification of outputs, and timing by interleaved duels of two executables.
#pragma once
#include <string>
#include <vector>

#include "measure/executable.h"

namespace hone::xla_side {

struct Comparison {
  bool equal = false;        // within the tolerance of the element types
  bool informative = false;  // every output has a finite value, and at least one is not constant
  int live = 0, dead = 0;    // outputs that vary; outputs without a finite value
  double max_error = 0;      // largest error in units of the tolerance; <= 1 is equal
  std::string note;
  // Beyond the tolerance. Special: finite in one alone, or another NaN or infinity.
  int64_t elements = 0, differing = 0, differing_special = 0;
  // The first of these; -1: none.
  int output = -1;
  int64_t position = -1;  // in the reference's layout
  std::string expected, found;
  double most = 1;  // of what is equal
};

// Candidate against reference. Floating point: |a - b| <= tol * (rms(b) + |b|), tol = 1024 eps for f32 and f64, 16 eps
// for bf16 and f16; NaN and infinities must be in the same places; numbers that differ by less than the
// smallest normal one are equal, since XLA:CPU flushes those below it. Integers and predicates: equal. `most`: the tolerance, in
// multiples of this.
Comparison compare(const std::vector<xla::Literal>& reference, const std::vector<xla::Literal>& candidate,
                   double most = 1);

// What leaves the caches before each run, outside of its time. Where a program's weights do not fit, they are cold when an operation
// comes to them, unlike its first input, which was just computed.
enum class Cold : int8_t { Nothing, Weights, Inputs };

struct DuelOptions {
  int min_rounds = 5, max_rounds = 30;
  double budget_ms = 1000;
  double precision = 0.01;   // stop at this half width of the interval
  double abandon_ratio = 0;  // stop after two or more rounds if all ratios are below this
  bool cpu_time = true;      // process CPU time on one pinned CPU (one thread) instead of wall time
  int cpu = -1;              // that CPU; -1 = the one it is on
  bool warm = false;  // both have just run: no warm-up run, which would take seconds for slow programs; each side
                      // then runs once per round
  Cold cold = Cold::Nothing;
  // By processor time: rounds on a disturbed core (base/core_probe.h) do not count until they have waited so long.
  double patience_ms = 0;
  double core_ns = 0;  // the core's probe at its best, if known
};

struct DuelResult {
  double baseline_ns = 0, candidate_ns = 0;         // least time of a run
  double ratio = 1, ratio_low = 1, ratio_high = 1;  // median of paired ratios baseline/candidate, 95 % interval
  int rounds = 0;
  double core_ns = 0;    // of the rounds that count, the median of the core's probe; 0 where wall time is measured
  double stolen_ms = 0;  // by the hypervisor meanwhile
};

// Alternates the order in every pair; each side runs for about 1 ms or once. Includes warm-up unless both are warm.
// Both may be the same executable; if it is warm, it then runs once per round.
DuelResult duel(Executable& baseline, Executable& candidate, const DuelOptions& options);
// Which side runs first in a round, counted from 0.
inline bool baseline_first(int round) { return round % 2 == 0; }
// Sets the ratio and its bounds from the paired ratios of all rounds: median and order-statistic 95 % interval. With fewer than
// six rounds there is no such interval: the range is widened by the error of single runs, 10 % divided by their number.
void summarise(std::vector<double> ratios, DuelResult& result);

// Times of `repeat` runs, in ns, after one run more unless it is warm.
std::vector<double> time_runs(Executable& executable, int repeat, bool cpu_time, bool warm = false);

// Every timed run is an event of this name for a profiler that is on.
inline constexpr char kRunEvent[] = "hone run";

}  // namespace hone::xla_side
