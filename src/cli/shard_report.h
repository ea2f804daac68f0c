// The answer of hone shard: what it is made of, and its forms.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/shard_choice.h"

namespace hone::cli {

inline constexpr char kHost[] = "host";  // the devices of this machine

struct ShardCommand {
  std::shared_ptr<OutputOptions> output;
  std::shared_ptr<ProgramOptions> program;
  std::string mesh, devices, strategy = "greedy", budget, models, hlo;
  std::optional<int64_t> steps;  // evaluations of the search; unlimited within a given budget
  bool no_products = false, run = false;

  bool on_host() const { return devices.empty() || devices == kHost; }
};

// `completed`: what XLA made of the answer.
struct ShardAnswer {
  const ShardCommand& command;
  const std::string& program;
  const sim::Topology& topology;
  const sharding::ShardSpace& space;
  const sharding::ShardEstimate& one_device;
  const std::vector<ShardRow>& rows;
  ShardChoice answer;
  const std::optional<sharding::MeasuredShardings>& measured;
  const wire::PartitionReplyT& completed;
  int evaluations = 0;
  double elapsed_s = 0;

  const ShardRow& taken() const { return rows[answer.row]; }
};

// Of one sharding or placement that was run on host devices.
nlohmann::json measured_json(const sharding::MeasuredSharding& m);
nlohmann::json shard_json(const ShardAnswer& answer);
void print_shard(const ShardAnswer& answer);

}  // namespace hone::cli
