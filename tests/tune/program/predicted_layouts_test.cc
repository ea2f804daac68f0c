// Layouts by predicted run times (predicted_layouts.h), without a worker.
#include "tune/program/predicted_layouts.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>

namespace hone::tune {

namespace {

LayoutSpace two_instructions() {
  LayoutSpace layouts;
  layouts.space.dimensions = {
      {DecisionKind::Layout, "once", {"-/-/-", "0,1/-/-", "-/0,1/-"}, 0, /*weight=*/1000, /*count=*/1},
      {DecisionKind::Layout, "in a loop", {"-/-/-", "0,1/-/-", "-/0,1/-"}, 0, /*weight=*/100, /*count=*/50}};
  return layouts;
}

// By the text of the decisions; 100 where it has none.
PredictLayouts predicted_as(std::map<std::string, double> ns, std::vector<std::string>& asked) {
  return [ns = std::move(ns), &asked](const Decisions& layouts) {
    asked.push_back(to_text(layouts));
    const auto found = ns.find(to_text(layouts));
    return std::vector<double>{found == ns.end() ? 100 : found->second};
  };
}

}  // namespace

TEST_CASE("layouts come back by their predicted times, best first, XLA's own time left out", "[tune]") {
  std::vector<std::string> asked;
  const auto predict = predicted_as({{"layout once=0,1/-/-", 90}, {"layout in a loop=-/0,1/-", 50}}, asked);
  const std::vector<PredictedLayout> found = predict_layouts(two_instructions(), predict, LayoutPredictions{});
  REQUIRE(found.size() == 2);
  CHECK(found[0].decision == Decision{DecisionKind::Layout, "in a loop", "-/0,1/-"});
  CHECK(found[0].margin == Approx(std::log(2)));
  CHECK(found[1].decision == Decision{DecisionKind::Layout, "once", "0,1/-/-"});
}

TEST_CASE("what moves most bytes is lowered first, one option of each before two of any", "[tune]") {
  std::vector<std::string> asked;
  const auto predict = predicted_as({}, asked);
  CHECK(predict_layouts(two_instructions(), predict, {.most = 3}).empty());
  CHECK(asked ==
        std::vector<std::string>{"", "layout in a loop=0,1/-/-", "layout once=0,1/-/-", "layout in a loop=-/0,1/-"});
}

TEST_CASE("layouts that lead to the same predicted time count once", "[tune]") {
  std::vector<std::string> asked;
  const auto predict = predicted_as({{"layout once=0,1/-/-", 80}, {"layout in a loop=-/0,1/-", 80}}, asked);
  CHECK(predict_layouts(two_instructions(), predict, LayoutPredictions{}).size() == 1);
}

TEST_CASE("a layout has the largest gain that any model sees", "[tune]") {
  const std::map<std::string, std::vector<double>> ns = {{"layout once=0,1/-/-", {110, 150}},
                                                         {"layout in a loop=-/0,1/-", {90, 250}},
                                                         {"layout once=-/0,1/-", {100, 200}}};
  const auto predict = [&](const Decisions& layouts) {
    const auto found = ns.find(to_text(layouts));
    return found == ns.end() ? std::vector<double>{100, 200} : found->second;
  };
  const std::vector<PredictedLayout> found = predict_layouts(two_instructions(), predict, LayoutPredictions{});
  REQUIRE(found.size() == 2);  // the third leads to the same times as none
  CHECK(found[0].decision == Decision{DecisionKind::Layout, "once", "0,1/-/-"});
  CHECK(found[0].margin == Approx(std::log(200.0 / 150)));
  CHECK(found[1].margin == Approx(std::log(100.0 / 90)));
}

TEST_CASE("nothing is predicted after a stop, or where the program cannot be", "[tune]") {
  std::vector<std::string> asked;
  const auto predict = predicted_as({{"layout once=0,1/-/-", 50}}, asked);
  CHECK(predict_layouts(two_instructions(), predict, {.should_stop = [] { return true; }}).empty());
  CHECK(asked.size() == 1);
  const auto never = [](const Decisions&) { return std::vector<double>(); };
  CHECK(predict_layouts(two_instructions(), never, LayoutPredictions{}).empty());
}

TEST_CASE("the best predicted and the first in order are measured by turns", "[tune]") {
  const auto layout = [](const char* key, double margin, int place) {
    return PredictedLayout{{DecisionKind::Layout, key, "0,1/-/-"}, margin, place};
  };
  const std::vector<PredictedLayout> order =
      in_turns({layout("best", 0.3, 5), layout("good", 0.2, 6), layout("bad", -0.1, 1), layout("worst", -0.5, 0)}, 3);
  REQUIRE(order.size() == 3);
  CHECK(order[0].decision.key == "best");
  CHECK(order[1].decision.key == "worst");
  CHECK(order[2].decision.key == "good");
  CHECK(in_turns({}, 3).empty());
}

}  // namespace hone::tune
