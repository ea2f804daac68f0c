// The predicted time of one run of a program under a sharding: XLA divides the program, a model predicts the kernels of one device,
// the topology the exchange of data.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cost/learned_model.h"
#include "graph/kernel.h"
#include "graph/strategy.h"
#include "sharding/collectives.h"
#include "sharding/shard_space.h"
#include "tune/session/session.h"

namespace hone::sharding {

// What XLA made of the program for one device, and its predicted time.
struct ShardEstimate {
  bool valid = false;    // XLA divides it, and it fits into a device's memory
  std::string error;     // why it is not
  bool crashed = false;  // the worker ended over it
  double seconds = 0;    // kernels, moves and collectives
  double kernel_seconds = 0, moved_seconds = 0, collective_seconds = 0;
  double peak_bytes = 0;
  std::vector<Collective> collectives;
  int64_t instructions = 0;
};

// Seconds of one run of a kernel on a device of the topology.
class KernelTimes {
 public:
  virtual ~KernelTimes() = default;
  virtual double seconds(const Kernel& kernel) = 0;
  virtual double moved_seconds(double bytes) const = 0;  // of what is no kernel
};
// A model of this machine's run times; `share`: what one device gets of a core, at most 1.
std::unique_ptr<KernelTimes> predicted_times(std::unique_ptr<cost::LearnedModel> model, double share);
// The roofline of the topology's first device.
std::unique_ptr<KernelTimes> roofline_times(const sim::Device& device);

// Divides the loaded program; throws RunError where XLA cannot.
using Partitioner = std::function<wire::PartitionReplyT(const wire::PartitioningT& partitioning)>;

class ShardCost : public CostModel {
 public:
  // All outlive this.
  ShardCost(const ShardSpace& space, const sim::Topology& topology, KernelTimes& times, Partitioner partitioner)
      : space_(space), topology_(topology), times_(times), partitioner_(std::move(partitioner)) {}

  // Known choices are remembered.
  const ShardEstimate& estimate(const Choice& choice);
  std::vector<double> costs(std::span<const Choice> choices) override;  // ns; kFailed where not valid
  int evaluated() const { return static_cast<int>(known_.size()); }

 private:
  ShardEstimate evaluate(const Choice& choice);

  const ShardSpace& space_;
  const sim::Topology& topology_;
  KernelTimes& times_;
  Partitioner partitioner_;
  std::map<Choice, ShardEstimate> known_;
};

// The sum of a reply's parts.
ShardEstimate estimate_of(const wire::PartitionReplyT& reply, const sim::Topology& topology, KernelTimes& times);

wire::PartitioningT partitioning_of(const ShardSpace& space, const Choice& choice);

}  // namespace hone::sharding
