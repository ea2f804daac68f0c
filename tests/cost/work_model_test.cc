#include "cost/work_model.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.h"
#include "cost/code_model.h"

using namespace hone;
using namespace hone::cost;

namespace {

size_t place(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  REQUIRE(found != names.end());
  return static_cast<size_t>(found - names.begin());
}

}  // namespace

TEST_CASE("a run time is a sum of counts times nanoseconds, and the shares say how it is made up", "[trees]") {
  const std::vector<std::string>&terms = work_term_names(), &features = code_model_feature_names();
  std::vector<float> weights(terms.size(), 0);
  weights[place(terms, "code_loads")] = 0.5F;
  weights[place(terms, "flops")] = 0.25F;
  weights.back() = 100;
  const WorkModel work(weights, terms, features);
  std::vector<float> row(features.size() - work_feature_names(work_term_names()).size(), 0);
  row[place(features, "code_loads")] = static_cast<float>(std::log1p(1000));
  row[place(features, "flops")] = static_cast<float>(std::log1p(800));
  CHECK(work.append(/*analytical_ns=*/200, row) == Approx(500 + 200 + 100));
  REQUIRE(row.size() == features.size());
  CHECK(row[place(features, "work_over_analytical")] == Approx(std::log(4.0)));
  CHECK(row[place(features, "share_of_code_loads")] == Approx(0.625));
  CHECK(row[place(features, "share_of_flops")] == Approx(0.25));
  CHECK(row.back() == Approx(0.125));
  CHECK(features.back() == "share_of_constant");
  CHECK(row[place(features, "share_of_code_stores")] == 0);
}

TEST_CASE("a kernel that does nothing takes a nanosecond", "[trees]") {
  const std::vector<std::string>& features = code_model_feature_names();
  std::vector<float> row(features.size() - work_feature_names(work_term_names()).size(), 0);
  CHECK(WorkModel(std::vector<float>(work_term_names().size(), 0), work_term_names(), features).append(2, row) == 1);
  CHECK(row[place(features, "work_over_analytical")] == Approx(std::log(0.5)));
}

TEST_CASE("a sum that no training kernel has counts as the largest that is believed", "[trees]") {
  const std::vector<std::string> terms = {"loads", "constant"};
  const WorkModel work({0.5F, 10}, terms, {"loads"}, /*most_ratio=*/20);
  std::vector<float> row = {static_cast<float>(std::log1p(1e6))};
  CHECK(work.append(/*analytical_ns=*/40, row) == Approx(800));
  CHECK(row[1] == Approx(std::log(20.0)));
  CHECK(row[2] == Approx(1).margin(1e-4));  // what it is made of stays
  row = {static_cast<float>(std::log1p(1000))};
  CHECK(work.append(/*analytical_ns=*/40, row) == Approx(510));
}

TEST_CASE("shares follow the last of several rows", "[trees]") {
  const std::vector<std::string> terms = {"loads", "constant"};
  const WorkModel work({0.5F, 10}, terms, {"other", "loads"});
  std::vector<float> rows = {1, 2, 3, 4, 5, static_cast<float>(std::log1p(60)), static_cast<float>(std::log1p(20))};
  CHECK(work.append(40, rows, /*begin=*/5) == Approx(20));
  REQUIRE(rows.size() == 7 + work_feature_names(terms).size());
  CHECK(rows[7] == Approx(std::log(0.5)));
  CHECK(rows[8] == Approx(0.5));
  CHECK(rows[9] == Approx(0.5));
}

TEST_CASE("damaged weights of work are refused", "[trees]") {
  const std::vector<std::string>& features = code_model_feature_names();
  std::vector<float> weights(work_term_names().size(), 1);
  CHECK_NOTHROW(WorkModel(weights, work_term_names(), features));
  weights[3] = -1;
  CHECK_THROWS_AS(WorkModel(weights, work_term_names(), features), Error);
  weights[3] = NAN;
  CHECK_THROWS_AS(WorkModel(weights, work_term_names(), features), Error);
  CHECK_THROWS_AS(WorkModel(std::vector<float>(3, 1), work_term_names(), features), Error);
  CHECK_THROWS_AS(WorkModel(std::vector<float>(work_term_names().size(), 1), work_term_names(), {"flops"}),
                  InternalError);
}
