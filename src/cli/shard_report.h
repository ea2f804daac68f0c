// The answer of hone shard: what it is made of, and its forms.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "sharding/shard_cost.h"
#include "sharding/shard_run.h"

namespace hone::cli {

struct ShardCommand {
  std::shared_ptr<OutputOptions> output;
  std::shared_ptr<ProgramOptions> program;
  std::string mesh, devices, strategy = "greedy", budget, models, hlo;
  std::optional<int64_t> steps;  // evaluations of the search; unlimited within a given budget
  bool no_products = false, run = false;
};

// One line of the table.
struct ShardRow {
  std::string name;
  Choice choice;
  sharding::ShardEstimate estimate;
  std::optional<sharding::MeasuredSharding> measured;
};

// `answer`: of the rows the one that is taken. `completed`: what XLA made of it.
struct ShardAnswer {
  const ShardCommand& command;
  const std::string& program;
  const sim::Topology& topology;
  const sharding::ShardSpace& space;
  const sharding::ShardEstimate& one_device;
  const std::vector<ShardRow>& rows;
  size_t answer;
  bool by_measurement;  // not by prediction
  const std::optional<sharding::MeasuredShardings>& measured;
  const wire::PartitionReplyT& completed;
  int evaluations = 0;
  double elapsed_s = 0;

  const ShardRow& taken() const { return rows[answer]; }
};
// Of one sharding or placement that was run on host devices.
nlohmann::json measured_json(const sharding::MeasuredSharding& m);
nlohmann::json shard_json(const ShardAnswer& answer);
void print_shard(const ShardAnswer& answer);

}  // namespace hone::cli
