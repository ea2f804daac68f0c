#include "request/turns.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/rng.h"
#include "base/stats.h"

namespace hone::request {
namespace {

constexpr int kMostRuns = 200;  // of one contender in one turn

std::vector<double> checked(std::vector<double> times) {
  if (times.empty() || std::any_of(times.begin(), times.end(), [](double t) { return !(t > 0) || !std::isfinite(t); }))
    throw InternalError("a run without a valid time");
  return times;
}

// Fisher and Yates; another order of the same numbers.
void shuffle(std::vector<size_t>& order, Rng& rng) {
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(rng.below(static_cast<int64_t>(i)))]);
}

}  // namespace

Speedup speedup_of(const TurnTimes& times, size_t baseline, size_t candidate) {
  const std::vector<double>&of_baseline = times.median_ns.at(baseline), &of_candidate = times.median_ns.at(candidate);
  std::vector<double> ratios;
  for (size_t i = 0; i < of_baseline.size(); ++i) ratios.push_back(of_baseline[i] / of_candidate.at(i));
  const Interval interval = median_interval(ratios);
  return {median(ratios), interval.low, interval.high};
}

int turns_within(double left_s, double turn_s, const TurnOptions& options) {
  const double fitting = left_s / std::max(turn_s, 1e-9);
  return static_cast<int>(std::clamp<double>(fitting, options.min_turns, options.max_turns));
}

TurnTimes run_in_turns(const std::vector<Contender>& contenders, const TurnOptions& options) {
  const double start_s = steady_s();
  std::vector<int> runs;
  for (const Contender& contender : contenders) {  // warm-up
    const double ns = median(checked(contender.run(2)));
    runs.push_back(std::clamp(static_cast<int>(options.turn_ms * 1e6 / ns), 1, kMostRuns));
  }
  std::vector<size_t> order(contenders.size());
  std::iota(order.begin(), order.end(), size_t{0});
  Rng rng(options.seed);
  const auto take_turn = [&](TurnTimes& times) {
    shuffle(order, rng);
    for (const size_t which : order) {
      if (interrupted()) throw Interrupted();
      const std::vector<double> found = checked(contenders[which].run(runs[which]));
      times.median_ns[which].push_back(median(found));
      times.least_ns[which] = std::min(times.least_ns[which], quantile(found, 0));
    }
  };
  TurnTimes times;
  times.median_ns.resize(contenders.size());
  times.least_ns.assign(contenders.size(), INFINITY);
  TurnTimes pilot = times;
  const double pilot_start_s = steady_s();
  take_turn(pilot);
  const double now_s = steady_s();
  const int turns = turns_within(options.budget_s - (now_s - start_s), now_s - pilot_start_s, options);
  for (int turn = 0; turn < turns; ++turn) {
    take_turn(times);
    if (options.progress) options.progress(turn + 1);
  }
  return times;
}

}  // namespace hone::request
