#include "cost/leaf_correction.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <span>

#include "base/error.h"
#include "base/rng.h"

namespace hone::cost {
namespace {

// Two trees over two features: the first divides at 10 in feature 0, the second at 5 in feature 1.
Trees two_trees() {
  return Trees::from_json(nlohmann::json::parse(R"({"base": 0, "trees": [
    {"feature": [0, -1, -1], "value": [10, 1, 2], "left": [1, 0, 0]},
    {"feature": [1, -1, -1], "value": [5, 3, 4], "left": [1, 0, 0]}]})"),
                          2);
}

}  // namespace

TEST_CASE("a row falls into one leaf of every tree", "[trees]") {
  std::vector<uint16_t> leaves;
  two_trees().append_leaves(std::vector<float>{9, 5}, leaves);
  CHECK(leaves == std::vector<uint16_t>{1, 2});
  two_trees().append_leaves(std::vector<float>{10, 4}, leaves);
  CHECK(leaves == std::vector<uint16_t>{1, 2, 2, 1});
  CHECK_THROWS_AS(two_trees().append_leaves(std::vector<float>{1}, leaves), InternalError);
}

TEST_CASE("kernels are corrected by those of the same leaves", "[trees]") {
  const Trees trees = two_trees();
  // Below 10 a machine takes twice what is predicted, above it half.
  std::vector<float> rows;
  std::vector<double> ratios;
  for (int i = 0; i < 12; ++i) {
    rows.insert(rows.end(), {i % 2 == 0 ? 1.0F : 20.0F, static_cast<float>(i)});
    ratios.push_back(i % 2 == 0 ? std::log(2) : -std::log(2));
  }
  const LeafCorrection correction({&trees}, rows, ratios);
  CHECK(correction.error() == Approx(std::log(2)));
  CHECK(correction.held_out_error() < 0.2 * correction.error());
  CHECK(correction.helps());
  CHECK(correction.log_factor(std::vector<float>{2, 3}) == Approx(std::log(2)).margin(0.1));
  CHECK(correction.log_factor(std::vector<float>{15, 3}) == Approx(-std::log(2)).margin(0.1));
  // Two members that are equal say what one says.
  const LeafCorrection twice({&trees, &trees}, rows, ratios);
  CHECK(twice.log_factor(std::vector<float>{2, 3}) == Approx(correction.log_factor(std::vector<float>{2, 3})));
}

TEST_CASE("the held-out error is that of corrections by the other kernels", "[trees]") {
  const Trees trees = two_trees();
  // Residuals of 0 in the median, with and without any kernel.
  const std::vector<float> rows = {1, 1, 20, 1, 1, 9, 20, 9, 2, 2, 3, 7, 30, 8};
  const std::vector<double> ratios = {0.3, -0.2, 0.5, 0, 0, 0, -0.4};
  const LeafCorrection all({&trees}, rows, ratios);
  double sum = 0;
  for (size_t out = 0; out < ratios.size(); ++out) {
    std::vector<float> others;
    std::vector<double> left;
    for (size_t i = 0; i < ratios.size(); ++i)
      if (i != out) others.insert(others.end(), {rows[2 * i], rows[2 * i + 1]}), left.push_back(ratios[i]);
    const LeafCorrection rest({&trees}, others, left);
    sum += std::abs(ratios[out] - rest.log_factor(std::span(rows).subspan(2 * out, 2)));
  }
  CHECK(all.held_out_error() == Approx(sum / static_cast<double>(ratios.size())));
}

TEST_CASE("noise corrects nothing", "[trees]") {
  const Trees trees = two_trees();
  Rng rng(0);
  std::vector<float> rows;
  std::vector<double> ratios;
  for (int i = 0; i < 100; ++i) {
    rows.insert(rows.end(), {static_cast<float>(rng.uniform() * 20), static_cast<float>(rng.uniform() * 10)});
    ratios.push_back(rng.uniform() - 0.5);
  }
  CHECK_FALSE(LeafCorrection({&trees}, rows, ratios).helps());
}

TEST_CASE("a correction needs kernels of the trees' features", "[trees]") {
  const Trees trees = two_trees();
  CHECK_THROWS_AS(LeafCorrection({&trees}, std::vector<float>{1, 2}, std::vector<double>{0.1}), InternalError);
  CHECK_THROWS_AS(LeafCorrection({&trees}, std::vector<float>{1, 2, 3}, std::vector<double>{0.1, 0.2}), InternalError);
  CHECK_THROWS_AS(LeafCorrection({&trees}, std::vector<float>{1, 2, 3, 4, 5, 6}, std::vector<double>{0.1, 0.2}),
                  InternalError);
}

}  // namespace hone::cost
