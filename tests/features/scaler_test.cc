#include "features/scaler.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace hone::features {
namespace {

using Catch::Contains;

const std::vector<Column> kColumns = {{"size", Scale::Linear}, {"bytes", Scale::Log}, {"same", Scale::Linear}};

Scaler fitted() {
  Scaler scaler(kColumns);
  scaler.fit(std::vector<float>{10, 0, 5, 20, static_cast<float>(std::exp(4.0) - 1), 5});
  scaler.fit(std::vector<float>{30, -static_cast<float>(std::exp(2.0) - 1), 5});
  return scaler;
}

TEST_CASE("scaler: min-max, logarithm first where the table says so, constant columns to 0") {
  std::vector<float> rows = {10, 0, 5, 20, static_cast<float>(std::exp(1.0) - 1), 7};
  fitted().apply(rows);
  CHECK(rows[0] == 0);
  CHECK(rows[1] == Approx((0.0 + 2) / 6));  // from -2 to 4
  CHECK(rows[2] == 0);
  CHECK(rows[3] == 0.5f);
  CHECK(rows[4] == Approx((1.0 + 2) / 6));
  CHECK(rows[5] == 0);  // constant in training
}

TEST_CASE("scaler: values far outside the training range are clamped") {
  std::vector<float> rows = {1e9f, 0, 5, -1e9f, 0, 5};
  fitted().apply(rows);
  CHECK(rows[0] == 2);
  CHECK(rows[3] == -1);
}

TEST_CASE("scaler: text and back") {
  const Scaler scaler = fitted();
  CHECK(Scaler::from_json(scaler.to_json(), kColumns) == scaler);
  CHECK(Scaler::from_json(scaler.to_json(), {}) == scaler);
  const Scaler fresh{kColumns};
  CHECK_FALSE(Scaler::from_json(fresh.to_json(), kColumns).fitted());
}

TEST_CASE("scaler: errors name the column that does not fit") {
  Scaler scaler(kColumns);
  CHECK_THROWS_AS(scaler.fit(std::vector<float>{1, 2}), InternalError);
  std::vector<float> row = {1, 2, 3};
  CHECK_THROWS_AS(scaler.apply(row), InternalError);
  try {
    scaler.fit(std::vector<float>{1, std::numeric_limits<float>::quiet_NaN(), 3});
    FAIL("NaN was accepted");
  } catch (const Error& e) {
    CHECK(e.where() == "column bytes");
  }
  const std::string text = fitted().to_json();
  auto other = kColumns;
  other[1].name = "reuse";
  CHECK_THROWS_WITH(Scaler::from_json(text, other), Contains("column 1 is bytes") && Contains("reuse"));
  other = kColumns;
  other.pop_back();
  CHECK_THROWS_WITH(Scaler::from_json(text, other), Contains("3 columns"));
  CHECK_THROWS_WITH(Scaler::from_json("{\"feature_version\":999,\"columns\":[]}", {}), Contains("feature version 999"));
  CHECK_THROWS_WITH(Scaler::from_json("{broken", {}), Contains("the scaler is broken"));
  CHECK_THROWS_AS(Scaler::from_json("{}", {}), Error);
}

}  // namespace
}  // namespace hone::features
