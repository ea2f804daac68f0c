#include "search/evaluator.h"

#include <catch2/catch.hpp>
#include <set>

#include "base/error.h"

namespace hone {
namespace {

Space three_by_two() {
  Space space;
  for (const char* key : {"a", "b", "fixed"}) space.dimensions.push_back({DecisionKind::Option, key, {"0"}, 0, 0});
  space.dimensions[0].options = {"0", "1", "2"};
  space.dimensions[1].options = {"0", "1"};
  return space;
}

class Sum : public CostModel {
 public:
  std::vector<double> costs(std::span<const Choice> choices) override {
    asked += static_cast<int>(choices.size());
    std::vector<double> result;
    for (const Choice& choice : choices) result.push_back(10 - choice[0] - choice[1]);
    result.resize(result.size() - missing);
    return result;
  }
  int asked = 0;
  size_t missing = 0;
};

}  // namespace

TEST_CASE("the evaluator evaluates each choice once and returns costs in order", "[search]") {
  const Space space = three_by_two();
  Sum model;
  const SearchOptions options;
  Evaluator evaluator(space, {0, 0, 0}, model, options);
  const std::vector<Choice> choices = {{1, 0, 0}, {0, 0, 0}, {1, 0, 0}, {2, 1, 0}};
  const std::vector<double> expected = {9, 10, 9, 7};
  CHECK(evaluator.costs(choices) == expected);
  CHECK(evaluator.costs(choices) == expected);
  CHECK(model.asked == 3);
  CHECK(evaluator.report().evaluations == 3);
  CHECK(evaluator.report().best == Choice{2, 1, 0});
  CHECK(evaluator.progress() == Approx(0.5));
  CHECK(evaluator.movable() == std::vector<size_t>{0, 1});
}

TEST_CASE("past the limit new choices count as failed, known ones keep their cost", "[search]") {
  const Space space = three_by_two();
  Sum model;
  SearchOptions options;
  options.max_evaluations = 2;
  options.batch_size = 16;
  Evaluator evaluator(space, {0, 0, 0}, model, options);
  const std::vector<Choice> choices = {{1, 0, 0}, {0, 0, 0}, {2, 0, 0}, {2, 1, 0}};
  CHECK(evaluator.costs(choices) == std::vector<double>{9, 10, kFailed, kFailed});
  CHECK(evaluator.done());
  CHECK(model.asked == 2);
  Rng rng(1);
  CHECK_FALSE(evaluator.unseen(rng).has_value());
}

TEST_CASE("unseen choices cover the space, the last one included", "[search]") {
  const Space space = three_by_two();
  Sum model;
  const SearchOptions options;
  Evaluator evaluator(space, {0, 0, 0}, model, options);
  Rng rng(5);
  std::set<Choice> drawn;
  while (auto choice = evaluator.unseen(rng)) {
    evaluator.cost(*choice);
    CHECK(drawn.insert(*choice).second);
  }
  CHECK(drawn.size() == 6);
  CHECK(evaluator.report().complete);
}

TEST_CASE("bugs of strategies and models are distinguished from failures", "[search]") {
  const Space space = three_by_two();
  Sum model;
  const SearchOptions options;
  CHECK_THROWS_AS(Evaluator(space, {0, 0}, model, options), InternalError);
  Evaluator evaluator(space, {0, 0, 0}, model, options);
  CHECK_THROWS_AS(evaluator.cost({3, 0, 0}), InternalError);
  model.missing = 1;
  CHECK_THROWS_AS(evaluator.cost({1, 0, 0}), InternalError);
}

TEST_CASE("moves stay legal and move", "[search]") {
  const Space space = three_by_two();
  Rng rng(3);
  std::set<int32_t> reached;
  for (int i = 0; i < 50; ++i) {
    Choice choice = {1, 0, 0};
    redraw(space, 0, rng, choice);
    reached.insert(choice[0]);
  }
  CHECK(reached == std::set<int32_t>{0, 2});
  Choice choice = {2, 0, 0};
  CHECK(next_choice(space, choice));
  CHECK(choice == Choice{2, 1, 0});
  CHECK_FALSE(next_choice(space, choice));
  CHECK(choice == Choice{0, 0, 0});
}

}  // namespace hone
