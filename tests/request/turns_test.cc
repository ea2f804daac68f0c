#include "request/turns.h"

#include <catch2/catch.hpp>

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

TEST_CASE("contenders run by turns, another one first in each", "[turns]") {
  std::vector<std::string> order;
  const TurnTimes times = run_in_turns({steady("a", 3e6, order), steady("b", 2e6, order), steady("c", 1e6, order)},
                                       {.budget_s = 0, .min_turns = 3});
  CHECK(times.turns() == 3);
  const std::vector<std::string> expected = {"a", "b", "c", "a", "b", "c", "b", "c", "a", "c", "a", "b"};
  CHECK(order == expected);  // the first three are the warm-up
  CHECK(times.least_ns == std::vector<double>{3e6, 2e6, 1e6});
  const Speedup found = speedup_of(times, 0, 2);
  CHECK(found.ratio == Approx(3));
  CHECK((found.low == found.ratio && found.high == found.ratio));
}

TEST_CASE("turns end with the precision, the budget or the most turns", "[turns]") {
  std::vector<std::string> order;
  const std::vector<Contender> level = {steady("a", 1e6, order), steady("b", 1e6, order)};
  CHECK(run_in_turns(level, {.budget_s = 1e9, .min_turns = 5}).turns() == 5);
  int call = 0;
  const Contender noisy{"noisy", [&call](int runs) {
                          return std::vector<double>(static_cast<size_t>(runs), ++call % 2 == 0 ? 1e6 : 2e6);
                        }};
  CHECK(run_in_turns({level[0], noisy}, {.budget_s = 0, .min_turns = 5}).turns() == 5);
  CHECK(run_in_turns({level[0], noisy}, {.budget_s = 1e9, .min_turns = 5, .max_turns = 40}).turns() == 40);
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
  CHECK(asked == std::vector<int>{2, 2, 2, 30, 1, 200});
}

TEST_CASE("a run without a valid time is no measurement", "[turns]") {
  const auto broken = [](double ns) {
    return Contender{"x", [ns](int runs) { return std::vector<double>(static_cast<size_t>(runs), ns); }};
  };
  CHECK_THROWS_AS(run_in_turns({broken(0)}, {}), InternalError);
  CHECK_THROWS_AS(run_in_turns({broken(-1)}, {}), InternalError);
}

}  // namespace hone::request
