#include "request/turns.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "base/error.h"

namespace hone::request {

namespace {

// Takes as long per run as told, and writes down when it was its turn.
Contender steady(const std::string& name, double ns, std::vector<std::string>& order) {
  return {name, [=, &order](int runs) {
            order.push_back(name);
            return std::vector<double>(static_cast<size_t>(runs), ns);
          }};
}

}  // namespace

TEST_CASE("contenders run by turns, in a random order in each", "[turns]") {
  const auto orders = [](uint64_t seed) {
    std::vector<std::string> order;
    run_in_turns({steady("a", 3e6, order), steady("b", 2e6, order), steady("c", 1e6, order)},
                 {.budget_s = 0, .min_turns = 60, .seed = seed});
    std::map<std::string, int> found;
    for (size_t i = 3; i + 2 < order.size(); i += 3)  // the first three are the warm-up
      ++found[order[i] + order[i + 1] + order[i + 2]];
    return found;
  };
  const std::map<std::string, int> found = orders(1);
  CHECK(found.size() == 6);  // every order, and nobody twice in one turn
  for (const auto& [order, times] : found) {
    CHECK(order.find_first_of("a") != std::string::npos);
    CHECK(order.find_first_of("b") != std::string::npos);
    CHECK(order.find_first_of("c") != std::string::npos);
    CHECK(times >= 2);
  }
  CHECK(orders(1) == found);
  CHECK(orders(2) != found);
}

TEST_CASE("a speedup is of medians of the same turn", "[turns]") {
  std::vector<std::string> order;
  const TurnTimes times = run_in_turns({steady("a", 3e6, order), steady("b", 2e6, order), steady("c", 1e6, order)},
                                       {.budget_s = 0, .min_turns = 3});
  CHECK(times.turns() == 3);
  CHECK(times.least_ns == std::vector<double>{3e6, 2e6, 1e6});
  const Speedup found = speedup_of(times, 0, 2);
  CHECK(found.ratio == Approx(3));
  CHECK((found.low == found.ratio && found.high == found.ratio));
}

TEST_CASE("the budget alone says how many turns there are", "[turns]") {
  std::vector<std::string> order;
  const std::vector<Contender> level = {steady("a", 1e6, order), steady("b", 1e6, order)};
  CHECK(run_in_turns(level, {.budget_s = 0, .min_turns = 5}).turns() == 5);
  // Times without any noise are no reason to stop.
  CHECK(run_in_turns(level, {.budget_s = 1e9, .min_turns = 5, .max_turns = 40}).turns() == 40);
  CHECK(turns_within(10, 0.1, {}) == 100);
  CHECK(turns_within(10, 0.01, {}) == 200);
  CHECK(turns_within(10, 0, {}) == 200);
  CHECK(turns_within(1, 1, {}) == 8);
  CHECK(turns_within(-1, 1, {}) == 8);
}

TEST_CASE("the first turn does not count", "[turns]") {
  int call = 0;
  const Contender slow_at_first{
      "x", [&call](int runs) { return std::vector<double>(static_cast<size_t>(runs), ++call <= 2 ? 9e6 : 1e6); }};
  const TurnTimes times = run_in_turns({slow_at_first}, {.budget_s = 0, .min_turns = 3});
  CHECK(times.median_ns.front() == std::vector<double>(3, 1e6));
}

TEST_CASE("a turn of a fast program has many runs, of a slow one a single run", "[turns]") {
  std::vector<int> asked;
  const auto of = [&](double ns) {
    return Contender{"x", [&asked, ns](int runs) {
                       asked.push_back(runs);
                       return std::vector<double>(static_cast<size_t>(runs), ns);
                     }};
  };
  run_in_turns({of(1e6), of(1e9), of(10)}, {.budget_s = 0, .min_turns = 1, .turn_ms = 30});
  std::sort(asked.begin() + 3, asked.end());  // of the first turn, which does not count, and the other
  CHECK(asked == std::vector<int>{2, 2, 2, 1, 1, 30, 30, 200, 200});
}

TEST_CASE("a run without a valid time is no measurement", "[turns]") {
  const auto broken = [](double ns) {
    return Contender{"x", [ns](int runs) { return std::vector<double>(static_cast<size_t>(runs), ns); }};
  };
  CHECK_THROWS_AS(run_in_turns({broken(0)}, {}), InternalError);
  CHECK_THROWS_AS(run_in_turns({broken(-1)}, {}), InternalError);
}

}  // namespace hone::request
