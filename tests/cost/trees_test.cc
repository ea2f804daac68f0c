#include "cost/trees.h"

#include <catch2/catch.hpp>
#include <limits>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/rng.h"

namespace hone::cost {

TEST_CASE("trees add their leaves to the base") {
  const auto trees = Trees::from_json(nlohmann::json::parse(R"({"base": 0.5, "trees": [
    {"feature": [1, -1, 0, -1, -1], "value": [3, 10, 7, 20, 30], "left": [1, 0, 3, 0, 0]},
    {"feature": [-1], "value": [0.25], "left": [0]}]})"),
                                      2);
  CHECK(trees.size() == 2);
  CHECK(trees.predict(std::vector<float>{0, 2}) == 10.75);
  CHECK(trees.predict(std::vector<float>{6, 3}) == 20.75);  // equal goes to the right
  CHECK(trees.predict(std::vector<float>{7, 4}) == 30.75);
}

TEST_CASE("rows together are predicted as rows by themselves") {
  const std::vector<int16_t> feature = {1, -1, 0, -1, -1, -1};
  const std::vector<float> value = {3, 10, 7, 20, 30, 0.25};
  const std::vector<int32_t> left = {1, 0, 3, 0, 0, 0}, roots = {0, 5};
  const Trees trees = Trees::from_arrays({0.5, feature, value, left, roots}, 2);
  CHECK(trees.size() == 2);
  const std::vector<float> rows = {0, 2, 6, 3, 7, 4};
  CHECK(trees.predict_rows(rows) == std::vector<double>{10.75, 20.75, 30.75});
  CHECK(trees.predict(std::span(rows).subspan(2, 2)) == 20.75);
  CHECK(trees.predict_rows({}).empty());
  CHECK_THROWS_AS(trees.predict_rows(std::vector<float>{1, 2, 3}), InternalError);
  const std::vector<int32_t> late = {1, 5}, outside = {0, 6}, backwards = {0, 0};
  for (const auto& wrong : {late, outside, backwards})
    CHECK_THROWS_AS(Trees::from_arrays({0.5, feature, value, left, wrong}, 2), Error);
}

namespace {

// A tree whose nodes are grown in random order, of up to `most` splits.
void grow(Rng& rng, int most, std::vector<int16_t>& feature, std::vector<float>& value, std::vector<int32_t>& left) {
  const size_t root = feature.size();
  std::vector<size_t> leaves = {0};
  const auto add = [&] {
    feature.push_back(-1), value.push_back(static_cast<float>(rng.uniform())), left.push_back(0);
  };
  add();
  for (int split = 0; split < most; ++split) {
    const size_t chosen = static_cast<size_t>(rng.below(std::ssize(leaves))), at = leaves[chosen],
                 child = feature.size() - root;
    feature[root + at] = static_cast<int16_t>(rng.below(5));
    left[root + at] = static_cast<int32_t>(child);
    add(), add();
    leaves[chosen] = child;
    leaves.push_back(child + 1);
  }
}

}  // namespace

TEST_CASE("walks side by side end where single ones do") {
  Rng rng(7);
  std::vector<int16_t> feature;
  std::vector<float> value;
  std::vector<int32_t> left, roots;
  for (int tree = 0; tree < 21; ++tree) {
    roots.push_back(static_cast<int32_t>(feature.size()));
    grow(rng, tree, feature, value, left);
  }
  const Trees trees = Trees::from_arrays({0.25, feature, value, left, roots}, 5);
  for (const size_t count : {1, 7, 8, 19}) {
    std::vector<float> rows(count * 5);
    for (float& x : rows) x = static_cast<float>(rng.uniform());
    rows[0] = std::numeric_limits<float>::infinity();
    rows[1] = -rows[0];
    const std::vector<double> sums = trees.predict_rows(rows);
    for (size_t i = 0; i < count; ++i) {
      double sum = 0.25;
      for (const int32_t root : roots) {
        int32_t node = root;
        while (feature[node] >= 0) node = root + left[node] + (rows[i * 5 + feature[node]] < value[node] ? 0 : 1);
        sum += value[node];
      }
      CHECK(sums[i] == sum);
      CHECK(trees.predict(std::span(rows).subspan(i * 5, 5)) == sum);
    }
  }
}

TEST_CASE("a node that two others lead to is as deep as the longer way") {
  // 0 -> 1, 2; 1 -> 3, 4; 2 -> 7, 8; 3 -> 5, 6; 5 -> 9, 10; 7 -> 9, 10; 9 -> 11, 12.
  const std::vector<int32_t> left = {1, 3, 7, 5, 0, 9, 0, 9, 0, 11, 0, 0, 0}, roots = {0};
  std::vector<int16_t> feature(13, -1);
  std::vector<float> value(13, 1);
  for (const int node : {0, 1, 2, 3, 5, 7, 9}) feature[node] = 0;
  value[11] = 42;
  CHECK(Trees::from_arrays({0, feature, value, left, roots}, 1).predict(std::vector<float>{0}) == 42);
}

TEST_CASE("a child beyond all numbers is refused") {
  const std::vector<int16_t> feature = {0, -1, -1};
  const std::vector<float> value = {1, 2, 3};
  const std::vector<int32_t> left = {std::numeric_limits<int32_t>::max(), 0, 0}, roots = {0};
  CHECK_THROWS_AS(Trees::from_arrays({0, feature, value, left, roots}, 1), Error);
}

TEST_CASE("trees of too many nodes or features are refused") {
  const std::vector<int32_t> roots = {0};
  std::vector<int16_t> feature = {8189, -1, -1};
  std::vector<float> value = {1, 2, 3};
  std::vector<int32_t> left = {1, 0, 0};
  std::vector<float> row(8190);
  CHECK(Trees::from_arrays({0, feature, value, left, roots}, row.size()).predict(row) == 2);
  CHECK_THROWS_AS(Trees::from_arrays({0, feature, value, left, roots}, 8191), Error);
  feature.assign(32767, -1), value.assign(32767, 5), left.assign(32767, 0);
  feature[0] = 0, left[0] = 32765;
  CHECK(Trees::from_arrays({0, feature, value, left, roots}, 1).predict(std::vector<float>{9}) == 5);
  feature.assign(32769, -1), value.assign(32769, 5), left.assign(32769, 0);
  CHECK_THROWS_AS(Trees::from_arrays({0, feature, value, left, roots}, 1), Error);
}

TEST_CASE("what is no tree is refused") {
  for (const char* text :
       {R"({})", R"({"base": 0, "trees": [{"feature": [], "value": [], "left": []}]})",
        R"({"base": 0, "trees": [{"feature": [0, -1], "value": [1, 2], "left": [1, 0]}]})",         // no right child
        R"({"base": 0, "trees": [{"feature": [0, -1, -1], "value": [1, 2], "left": [1, 0, 0]}]})",  // a value too few
        R"({"base": 0, "trees": [{"feature": [2, -1, -1], "value": [1, 2, 3], "left": [1, 0, 0]}]})",
        R"({"base": 0, "trees": [{"feature": [0, -1, -1], "value": [1, 2, 3], "left": [0, 0, 0]}]})",  // its own child
        R"({"base": "x", "trees": []})"}) {
    INFO(text);
    CHECK_THROWS_AS(Trees::from_json(nlohmann::json::parse(text), 2), Error);
  }
}

}  // namespace hone::cost
