#include "request/turns.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/stats.h"

namespace hone::request {
namespace {

constexpr int kMostRuns = 200;  // of one contender in one turn

std::vector<double> checked(std::vector<double> times) {
  if (times.empty() || std::any_of(times.begin(), times.end(), [](double t) { return !(t > 0) || !std::isfinite(t); }))
    throw InternalError("a run without a valid time");
  return times;
}

bool is_precise(const TurnTimes& times, double precision) {
  for (size_t i = 1; i < times.median_ns.size(); ++i) {
    const Speedup found = speedup_of(times, 0, i);
    if ((found.high - found.low) / 2 > precision * found.ratio) return false;
  }
  return true;
}

}  // namespace

Speedup speedup_of(const TurnTimes& times, size_t baseline, size_t candidate) {
  const std::vector<double>&of_baseline = times.median_ns.at(baseline), &of_candidate = times.median_ns.at(candidate);
  std::vector<double> ratios;
  for (size_t i = 0; i < of_baseline.size(); ++i) ratios.push_back(of_baseline[i] / of_candidate.at(i));
  const Interval interval = median_interval(ratios);
  return {median(ratios), interval.low, interval.high};
}

TurnTimes run_in_turns(const std::vector<Contender>& contenders, const TurnOptions& options) {
  const double start_s = steady_s();
  std::vector<int> runs;
  for (const Contender& contender : contenders) {  // warm-up
    const double ns = median(checked(contender.run(2)));
    runs.push_back(std::clamp(static_cast<int>(options.turn_ms * 1e6 / ns), 1, kMostRuns));
  }
  TurnTimes times;
  times.median_ns.resize(contenders.size());
  times.least_ns.assign(contenders.size(), INFINITY);
  for (int turn = 0; turn < options.max_turns; ++turn) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      if (interrupted()) throw Interrupted();
      const size_t which = (i + static_cast<size_t>(turn)) % contenders.size();
      const std::vector<double> found = checked(contenders[which].run(runs[which]));
      times.median_ns[which].push_back(median(found));
      times.least_ns[which] = std::min(times.least_ns[which], quantile(found, 0));
    }
    if (options.progress) options.progress(turn + 1);
    if (turn + 1 < options.min_turns) continue;
    if (steady_s() - start_s > options.budget_s || is_precise(times, options.precision)) break;
  }
  return times;
}

}  // namespace hone::request
