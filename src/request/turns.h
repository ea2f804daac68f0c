// Programs that run in different processes, measured by turns: each turn lets every one of them run for a moment.
#pragma once

#include <cstdint>
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
  double turn_ms = 30;  // of each contender
  uint64_t seed = 0;    // of the orders
  std::function<void(int turns)> progress = {};
};

struct TurnTimes {
  std::vector<std::vector<double>> median_ns;  // by contender and turn
  std::vector<double> least_ns;                // by contender
  int turns() const { return median_ns.empty() ? 0 : static_cast<int>(median_ns.front().size()); }
};

// As many turns as the budget has time for, by a first turn that does not count: their number does not depend on what they
// find, which an interval at 95 % supposes. Each turn has a random order. Throws Interrupted, and what the contenders throw.
TurnTimes run_in_turns(const std::vector<Contender>& contenders, const TurnOptions& options);

// The number of turns of `turn_s` each in what is left of the budget.
int turns_within(double left_s, double turn_s, const TurnOptions& options);

// How much faster `candidate` is than `baseline`, by number: the median over the turns and its 95 % interval.
struct Speedup {
  double ratio = 1, low = 1, high = 1;
};
Speedup speedup_of(const TurnTimes& times, size_t baseline, size_t candidate);

}  // namespace hone::request
