#include "cli/shard_choice.h"

#include <catch2/catch.hpp>

namespace hone::cli {

namespace {

ShardRow row(double predicted_s, double measured_s, tune::Outcome outcome = tune::Outcome::Ok) {
  ShardRow row;
  row.estimate.valid = true;
  row.estimate.seconds = predicted_s;
  row.measured.emplace();
  row.measured->outcome = outcome;
  row.measured->seconds = measured_s;
  return row;
}

}  // namespace

TEST_CASE("a sharding that ran 5 % faster takes the place of the predicted one", "[cli][shard]") {
  const std::vector<ShardRow> rows = {row(3, 0.94), row(2, 0.9), row(1, 1.0)};
  const auto choice = choose_verified(rows, 2, /*by_times=*/true);
  REQUIRE(choice);
  CHECK(choice->row == 1);
  CHECK(choice->by_measurement);
}

TEST_CASE("less than 5 % is no reason to leave the prediction", "[cli][shard]") {
  const auto choice = choose_verified({row(2, 0.96), row(1, 1.0)}, 1, /*by_times=*/true);
  REQUIRE(choice);
  CHECK(choice->row == 1);
  CHECK_FALSE(choice->by_measurement);
}

TEST_CASE("times of other devices than those asked for choose nothing", "[cli][shard]") {
  const auto choice = choose_verified({row(2, 0.1), row(1, 1.0)}, 1, /*by_times=*/false);
  REQUIRE(choice);
  CHECK(choice->row == 1);
  CHECK_FALSE(choice->by_measurement);
}

TEST_CASE("a sharding with other outputs, or that did not run, is never the answer", "[cli][shard]") {
  std::vector<ShardRow> rows = {row(3, 1.0), row(2, 1.02), row(1, 0.1, tune::Outcome::Mismatch), row(0.5, 1)};
  rows[3].measured.reset();
  auto choice = choose_verified(rows, 2, /*by_times=*/true);
  REQUIRE(choice);
  CHECK(choice->row == 1);  // the best predicted of the two
  rows[0].measured->seconds = 0.5;
  choice = choose_verified(rows, 2, /*by_times=*/true);
  REQUIRE(choice);
  CHECK(choice->row == 0);
  CHECK(choice->by_measurement);
  for (ShardRow& each : rows) each.measured.reset();
  CHECK_FALSE(choose_verified(rows, 2, /*by_times=*/true));
}

}  // namespace hone::cli
