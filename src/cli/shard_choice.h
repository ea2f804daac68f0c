// Which row of the table of hone shard is the answer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "graph/decision.h"
#include "sharding/shard_cost.h"
#include "sharding/shard_run.h"

namespace hone::cli {

// One line of the table.
struct ShardRow {
  std::string name;
  Choice choice;
  sharding::ShardEstimate estimate;
  std::optional<sharding::MeasuredSharding> measured;
};

// As predicted.
bool is_better(const ShardRow& a, const ShardRow& b);
bool is_verified(const ShardRow& row);  // ran, with the outputs of one device

struct ShardChoice {
  size_t row = 0;
  bool by_measurement = false;  // not by prediction
};

// Above 1: how much longer the predicted row must have taken than the fastest. The ratio of two rows' least times differs by 5 % between
// two runs on quiet cores, in the median (docs/decisions/0061-measured-shardings.md).
inline constexpr double kSurelySlower = 1.05;

// Of the rows that ran and have one device's outputs: `predicted`, or the best predicted one where that has others; with `by_times` the
// fastest, if it is faster by kSurelySlower. Nothing where no row has them.
std::optional<ShardChoice> choose_verified(const std::vector<ShardRow>& rows, size_t predicted, bool by_times);

}  // namespace hone::cli
