#include "sharding/shard_cost.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "cost/kernel_ranker.h"
#include "sim/roofline.h"
#include "wire/client.h"
#include "wire/kernel.h"

namespace hone::sharding {

namespace {

class Predicted : public KernelTimes {
 public:
  Predicted(std::unique_ptr<cost::LearnedModel> model, double share) : model_(std::move(model)), share_(share) {}

  double seconds(const Kernel& kernel) override {
    const auto [place, fresh] = known_.try_emplace(kernel.fingerprint, 0);
    if (fresh && !kernel.module.empty() && !kernel.dimension.options.empty()) try {
        place->second =
            1e-9 * model_->predict(cost::EncodedOptions(kernel, {kernel.default_value()}).view()).at(0) / share_;
      } catch (const Error& e) {
        spdlog::debug("no prediction of {}: {}", kernel.name, e.what());
        place->second = moved_seconds(kernel.bytes);
      }
    return place->second;
  }
  double moved_seconds(double bytes) const override { return bytes / sim::kHostBytesMoved / share_; }

 private:
  std::unique_ptr<cost::LearnedModel> model_;
  double share_;
  std::unordered_map<std::string, double> known_;
};

class Roofline : public KernelTimes {
 public:
  explicit Roofline(const sim::Device& device) : device_(device) {}

  double seconds(const Kernel& kernel) override {
    const bool matrix = kernel.kind == "dot" || kernel.kind == "convolution";
    double compute = kernel.flops / (matrix ? device_.matrix_flops : device_.vector_flops);
    if (device_.special_per_second > 0) compute += kernel.transcendentals / device_.special_per_second;
    const double bytes = std::max(kernel.bytes, kernel.bytes_read + kernel.bytes_written);
    return device_.launch_seconds + sim::overlapped(compute, bytes / device_.bytes_per_second, device_.overlap);
  }
  double moved_seconds(double bytes) const override { return bytes / device_.bytes_per_second; }

 private:
  sim::Device device_;
};

}  // namespace

std::unique_ptr<KernelTimes> predicted_times(std::unique_ptr<cost::LearnedModel> model, double share) {
  if (!model->predicts_runtime()) throw Error("this model ranks options and predicts no run times", model->name());
  return std::make_unique<Predicted>(std::move(model), share);
}

std::unique_ptr<KernelTimes> roofline_times(const sim::Device& device) { return std::make_unique<Roofline>(device); }

ShardEstimate estimate_of(const wire::PartitionReplyT& reply, const sim::Topology& topology, KernelTimes& times) {
  ShardEstimate out;
  for (const auto& sent : reply.kernels) {
    const Kernel kernel = wire::from_wire(*sent);
    out.kernel_seconds += kernel.runs * times.seconds(kernel);
  }
  out.moved_seconds = times.moved_seconds(reply.moved_bytes);
  for (const auto& c : reply.collectives) {
    out.collectives.push_back({c->kind, c->bytes, c->devices, c->runs});
    out.collective_seconds += c->runs * collective_seconds(out.collectives.back(), topology);
  }
  out.seconds = out.kernel_seconds + out.moved_seconds + out.collective_seconds;
  out.peak_bytes = static_cast<double>(reply.peak_bytes);
  out.instructions = reply.instructions;
  double memory = topology.devices[0].memory_bytes;
  for (const sim::Device& device : topology.devices) memory = std::min(memory, device.memory_bytes);
  out.valid = out.peak_bytes <= memory;
  if (!out.valid) out.error = "needs " + human_bytes(out.peak_bytes) + " of a device's " + human_bytes(memory);
  return out;
}

wire::PartitioningT partitioning_of(const ShardSpace& space, const Choice& choice) {
  wire::PartitioningT out;
  out.partitions = space.mesh.devices();
  for (const NamedSharding& sharding : shardings_of(space, choice)) {
    auto& row = *out.shardings.emplace_back(std::make_unique<wire::ShardingT>());
    row.instruction = sharding.instruction;
    row.value = sharding.value;
  }
  return out;
}

const ShardEstimate& ShardCost::estimate(const Choice& choice) {
  const auto found = known_.find(choice);
  return found != known_.end() ? found->second : known_.emplace(choice, evaluate(choice)).first->second;
}

ShardEstimate ShardCost::evaluate(const Choice& choice) {
  try {
    return estimate_of(partitioner_(partitioning_of(space_, choice)), topology_, times_);
  } catch (const wire::NoWorker&) {
    throw;
  } catch (const RunError& failed) {  // XLA's partitioner refuses some, and ends the process at others
    ShardEstimate out;
    out.error = failed.what();
    out.crashed = dynamic_cast<const wire::WorkerFailure*>(&failed) != nullptr;
    return out;
  } catch (const tune::Stopped&) {  // the search ends
    ShardEstimate out;
    out.error = "interrupted";
    return out;
  }
}

std::vector<double> ShardCost::costs(std::span<const Choice> choices) {
  std::vector<double> out;
  for (const Choice& choice : choices) {
    const ShardEstimate& found = estimate(choice);
    out.push_back(found.valid ? 1e9 * found.seconds : kFailed);
  }
  return out;
}

}  // namespace hone::sharding
