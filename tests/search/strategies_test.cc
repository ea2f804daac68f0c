#include "search/strategies.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "base/error.h"
#include "search/evaluator.h"

namespace hone {
namespace {

Space make_space(const std::vector<int>& sizes) {
  Space space;
  for (size_t d = 0; d < sizes.size(); ++d) {
    Dimension dimension;
    dimension.kind = DecisionKind::Codegen;
    dimension.key = "k" + std::to_string(d);
    dimension.weight = static_cast<double>((d * 7) % 5);
    for (int i = 0; i < sizes[d]; ++i) dimension.options.push_back(std::to_string(i));
    space.dimensions.push_back(dimension);
  }
  return space;
}

// A cost from a function; records every evaluated choice and the size of every batch.
class FunctionCost : public CostModel {
 public:
  explicit FunctionCost(std::function<double(const Choice&)> cost) : cost_(std::move(cost)) {}
  std::vector<double> costs(std::span<const Choice> choices) override {
    batches.push_back(choices.size());
    std::vector<double> result;
    for (const Choice& choice : choices) {
      asked.push_back(choice);
      result.push_back(cost_(choice));
    }
    return result;
  }
  std::vector<Choice> asked;
  std::vector<size_t> batches;

 private:
  std::function<double(const Choice&)> cost_;
};

double at(const Choice& choice, size_t d) { return choice[d]; }

// The optimum, 10, takes option 1 + d % 2 in every dimension.
double separable(const Choice& choice) {
  double cost = 10;
  for (size_t d = 0; d < choice.size(); ++d) cost += (1 + d) * std::abs(at(choice, d) - (1.0 + d % 2));
  return cost;
}

// Neighbouring dimensions gain only together, and fixed noise makes many local optima.
double rugged(const Choice& choice) {
  double cost = 100;
  uint64_t hash = 7;
  for (size_t d = 0; d < choice.size(); ++d) {
    hash = Rng(hash + static_cast<uint64_t>(choice[d]))();
    if (d > 0) cost += choice[d] == 2 && choice[d - 1] == 2 ? -8 : choice[d] == 2 || choice[d - 1] == 2 ? 4 : 0;
  }
  return cost + static_cast<double>(hash % 1000) / 200;
}

// Options 3 of the first two dimensions gain together; every single step towards them is a loss.
double pairwise(const Choice& choice) {
  return 50 - 20.0 * (choice[0] == 3 && choice[1] == 3) + choice[0] + choice[1] + at(choice, 2);
}

double best_of_all(const Space& space, const std::function<double(const Choice&)>& cost) {
  Choice choice(space.dimensions.size(), 0);
  double best = cost(choice);
  while (next_choice(space, choice)) best = std::min(best, cost(choice));
  return best;
}

bool all_distinct(const std::vector<Choice>& choices) {
  return std::set<Choice>(choices.begin(), choices.end()).size() == choices.size();
}

}  // namespace

TEST_CASE("a strategy is made by its name", "[search]") {
  REQUIRE(strategy_names().size() >= 6);
  for (const std::string& name : strategy_names()) CHECK(make_strategy(name)->name() == name);
  try {
    make_strategy("magic");
    FAIL("an unknown name was accepted");
  } catch (const Error& error) {
    for (const std::string& name : strategy_names()) CHECK(error.hint().find(name) != std::string::npos);
  }
}

TEST_CASE("exhaustive covers the space and finds the optimum", "[search]") {
  const Space space = make_space({3, 4, 1, 5, 2});
  FunctionCost cost(rugged);
  const Choice start = {1, 2, 0, 3, 1};
  const SearchReport report = make_exhaustive()->search(space, start, cost, {});
  CHECK(report.complete);
  CHECK(report.evaluations == 120);
  CHECK(cost.asked.size() == 120);
  CHECK(all_distinct(cost.asked));
  CHECK(cost.asked.front() == start);
  CHECK(report.best_cost == best_of_all(space, rugged));
  CHECK(rugged(report.best) == report.best_cost);
}

TEST_CASE("greedy and beam are exact on separable costs", "[search]") {
  const Space space = make_space({3, 4, 5, 3, 4, 3});
  for (const char* name : {"greedy", "beam"}) {
    CAPTURE(name);
    FunctionCost cost(separable);
    const SearchReport report = make_strategy(name)->search(space, space.default_choice(), cost, {});
    CHECK(report.best_cost == 10);
    CHECK(report.best == Choice{1, 2, 1, 2, 1, 2});
    CHECK(report.evaluations < space.size());
  }
}

TEST_CASE("greedy takes the heaviest dimension first", "[search]") {
  Space space = make_space({3, 3, 3});
  space.dimensions[0].weight = 1;
  space.dimensions[1].weight = 9;
  space.dimensions[2].weight = 4;
  FunctionCost cost(separable);
  make_greedy()->search(space, {0, 0, 0}, cost, {});
  REQUIRE(cost.asked.size() > 4);
  CHECK(cost.asked[1] == Choice{0, 1, 0});
  CHECK(cost.asked[2] == Choice{0, 2, 0});
  CHECK(cost.asked[3] == Choice{0, 2, 1});
}

TEST_CASE("beam finds a pair that greedy cannot", "[search]") {
  Space space = make_space({4, 4, 3});
  for (Dimension& dimension : space.dimensions) dimension.weight = 0;  // in the space's order
  FunctionCost greedy_cost(pairwise), beam_cost(pairwise);
  CHECK(make_greedy()->search(space, {0, 0, 0}, greedy_cost, {}).best_cost == 50);
  CHECK(make_beam()->search(space, {0, 0, 0}, beam_cost, {}).best_cost == 36);
}

TEST_CASE("random searches find the optimum of small rugged spaces", "[search]") {
  const Space space = make_space({3, 4, 3, 3, 4, 3});  // 1,296 choices
  const double best = best_of_all(space, rugged);
  for (const char* name : {"random", "anneal", "anneal-linear", "genetic"}) {
    for (uint64_t seed : {1, 2, 3}) {
      CAPTURE(name, seed);
      FunctionCost cost(rugged);
      SearchOptions options;
      options.seed = seed;
      options.max_evaluations = 5000;
      const SearchReport report = make_strategy(name)->search(space, space.default_choice(), cost, options);
      CHECK(report.best_cost == best);
      CHECK(report.complete);  // more evaluations than choices: all are evaluated
      CHECK(report.evaluations == 1296);
      CHECK(all_distinct(cost.asked));
    }
  }
}

TEST_CASE("guided searches beat random sampling on a large space", "[search]") {
  const Space space = make_space(std::vector<int>(24, 4));
  const auto mean_best = [&](const char* name) {
    double sum = 0;
    for (uint64_t seed = 0; seed < 5; ++seed) {
      FunctionCost cost(rugged);
      SearchOptions options;
      options.seed = seed;
      options.max_evaluations = 1500;
      sum += make_strategy(name)->search(space, Choice(24, 0), cost, options).best_cost;
    }
    return sum / 5;
  };
  const double random = mean_best("random");
  for (const char* name : {"anneal", "anneal-linear", "genetic"}) {
    CAPTURE(name);
    CHECK(mean_best(name) < 0.7 * random);
  }
}

TEST_CASE("every strategy keeps the contract", "[search]") {
  const Space space = make_space({3, 4, 3, 1, 4, 3, 2});
  const Choice start = {2, 1, 0, 0, 3, 1, 1};
  for (const std::string& name : strategy_names()) {
    CAPTURE(name);
    const auto run = [&](FunctionCost& cost, SearchOptions options) {
      options.seed = 11;
      return make_strategy(name)->search(space, start, cost, options);
    };
    SECTION(name + ": begins with the start, evaluates nothing twice, returns the best") {
      FunctionCost cost(rugged);
      std::vector<std::pair<Choice, double>> seen;
      SearchOptions options;
      options.max_evaluations = 60;
      options.on_evaluated = [&](const Choice& choice, double value) { seen.emplace_back(choice, value); };
      const SearchReport report = run(cost, options);
      REQUIRE_FALSE(cost.asked.empty());
      CHECK(cost.asked.front() == start);
      CHECK(all_distinct(cost.asked));
      CHECK(report.evaluations == static_cast<int>(cost.asked.size()));
      CHECK(report.evaluations <= 60);
      CHECK_FALSE(report.complete);
      REQUIRE(seen.size() == cost.asked.size());
      double best = kFailed;
      for (size_t i = 0; i < seen.size(); ++i) {
        CHECK(seen[i].first == cost.asked[i]);
        best = std::min(best, seen[i].second);
      }
      CHECK(report.best_cost == best);
      CHECK(rugged(report.best) == best);
    }
    SECTION(name + ": gives the same trace for the same seed") {
      FunctionCost first(rugged), second(rugged);
      SearchOptions options;
      options.max_evaluations = 80;
      run(first, options);
      run(second, options);
      CHECK(first.asked == second.asked);
    }
    SECTION(name + ": stops on request, before the next batch") {
      FunctionCost cost(rugged);
      SearchOptions options;
      options.should_stop = [&] { return cost.asked.size() >= 7; };
      const SearchReport report = run(cost, options);
      CHECK(cost.asked.size() == 7);
      CHECK(report.evaluations == 7);
    }
    SECTION(name + ": a stop before the first evaluation returns the start") {
      FunctionCost cost(rugged);
      SearchOptions options;
      options.should_stop = [] { return true; };
      const SearchReport report = run(cost, options);
      CHECK(cost.asked.empty());
      CHECK(report.best == start);
      CHECK(report.best_cost == kFailed);
    }
    SECTION(name + ": keeps batches within their size and the limit") {
      FunctionCost cost(rugged);
      SearchOptions options;
      options.max_evaluations = 50;
      options.batch_size = 8;
      const SearchReport report = run(cost, options);
      CHECK(report.evaluations <= 50);
      CHECK(all_distinct(cost.asked));
      CHECK(*std::max_element(cost.batches.begin(), cost.batches.end()) <= 8);
      const bool walks = name.find("anneal") != std::string::npos;  // one choice per batch
      CHECK((walks || cost.batches.size() < cost.asked.size()));
    }
  }
}

TEST_CASE("every strategy handles failures and spaces with nothing to decide", "[search]") {
  const Space space = make_space({3, 4, 3, 1, 4, 3, 2});
  const Choice start = {2, 1, 0, 0, 3, 1, 1};
  for (const std::string& name : strategy_names()) {
    CAPTURE(name);
    const auto run = [&](FunctionCost& cost, SearchOptions options) {
      options.seed = 11;
      return make_strategy(name)->search(space, start, cost, options);
    };
    SECTION(name + ": handles failures, also of the start") {
      // Only choices with option 2 in the first and not 0 in the second dimension work; NaN counts as failed.
      FunctionCost cost([&](const Choice& choice) {
        if (choice == start) return std::nan("");
        return choice[0] == 2 && choice[1] != 0 ? rugged(choice) : kFailed;
      });
      const SearchReport report = run(cost, {});
      CHECK(std::isfinite(report.best_cost));
      CHECK(report.best[0] == 2);
      CHECK(report.best[1] != 0);
    }
    SECTION(name + ": terminates if everything fails") {
      FunctionCost cost([](const Choice&) { return kFailed; });
      const SearchReport report = run(cost, {});
      CHECK(report.best_cost == kFailed);
      CHECK(report.best == start);
      CHECK(all_distinct(cost.asked));
    }
    SECTION(name + ": handles spaces with nothing to decide") {
      for (const Space& trivial : {Space{}, make_space({1, 1})}) {
        FunctionCost cost([](const Choice&) { return 5.0; });
        const SearchReport report = make_strategy(name)->search(trivial, trivial.default_choice(), cost, {});
        CHECK(report.evaluations == 1);
        CHECK(report.best_cost == 5);
        CHECK(report.complete);
      }
    }
  }
}

TEST_CASE("options of strategies are checked", "[search]") {
  CHECK_THROWS_AS(make_anneal({.start_temperature = 0.1, .end_temperature = 0}), Error);
  CHECK_THROWS_AS(make_anneal({.start_temperature = 0.1, .end_temperature = 0.2}), Error);
  CHECK_THROWS_AS(make_anneal({.patience = 0}), Error);
  CHECK_THROWS_AS(make_genetic({.population = 1}), Error);
  CHECK_THROWS_AS(make_genetic({.elites = 24}), Error);
  CHECK_THROWS_AS(make_genetic({.tournament = 0}), Error);
  CHECK_THROWS_AS(make_genetic({.mutations = -1}), Error);
  CHECK_THROWS_AS(make_beam({.width = 0}), Error);
}

}  // namespace hone
