// Programs that run in different processes, measured by turns: each turn lets every one of them run for a moment.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace hone::request {

struct Contender {
  std::string name;
  std::function<std::vector<double>(int runs)> run;  // times of so many runs, in ns, all above 0
};

struct TurnOptions {
  double budget_s = 10;
  int min_turns = 8, max_turns = 200;
  double precision = 0.005;  // stop when all intervals against the first contender are this narrow, on either side
  double turn_ms = 30;       // of each contender
  std::function<void(int turns)> progress = {};
};

struct TurnTimes {
  std::vector<std::vector<double>> median_ns;  // by contender and turn
  std::vector<double> least_ns;                // by contender
  int turns() const { return median_ns.empty() ? 0 : static_cast<int>(median_ns.front().size()); }
};

// Another contender is first in each turn. Throws Interrupted, and what the contenders throw.
TurnTimes run_in_turns(const std::vector<Contender>& contenders, const TurnOptions& options);

// How much faster `candidate` is than `baseline`, by number: the median over the turns and its 95 % interval.
struct Speedup {
  double ratio = 1, low = 1, high = 1;
};
Speedup speedup_of(const TurnTimes& times, size_t baseline, size_t candidate);

}  // namespace hone::request
