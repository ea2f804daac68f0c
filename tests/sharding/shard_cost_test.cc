#include "sharding/shard_cost.h"

#include <catch2/catch.hpp>
#include <functional>

#include "base/error.h"
#include "search/strategies.h"
#include "sharding/baselines.h"
#include "sharding/shard_run.h"
#include "tests/sharding/graphs.h"
#include "wire/client.h"

namespace hone::sharding {

namespace {

sim::Topology a_ring(int count, double gb_per_s, double latency_s) {
  sim::Topology out = host_devices(count, 1e9 * count);
  out.links[0] = {"link", gb_per_s * 1e9, latency_s};
  return out;
}

std::vector<int> first(int count) {
  std::vector<int> out(count);
  for (int i = 0; i < count; ++i) out[i] = i;
  return out;
}

class OneNanosecond : public KernelTimes {
 public:
  double seconds(const Kernel&) override { return 1e-9; }
  double moved_seconds(double bytes) const override { return bytes * 1e-12; }
};

}  // namespace

TEST_CASE("collectives take the steps of a ring", "[sharding]") {
  const sim::Topology ring = a_ring(4, 1, 1e-6);
  const double mega = 1e6;
  CHECK(collective_seconds({"all-reduce", mega, first(4), 1}, ring) == Approx(6 * (1e-6 + 0.25e-3)));
  CHECK(collective_seconds({"reduce-scatter", mega, first(4), 1}, ring) == Approx(3 * (1e-6 + 0.25e-3)));
  CHECK(collective_seconds({"all-gather", mega, first(4), 1}, ring) == Approx(3 * (1e-6 + 1e-3)));
  CHECK(collective_seconds({"all-to-all", mega, first(4), 1}, ring) == Approx(3 * (1e-6 + 0.25e-3)));
  CHECK(collective_seconds({"collective-permute", mega, {0, 1}, 1}, ring) == Approx(1e-6 + 1e-3));
  CHECK(collective_seconds({"all-reduce", mega, {0}, 1}, ring) == 0);
}

TEST_CASE("an estimate is the sum of its parts, and invalid without the memory", "[sharding]") {
  wire::PartitionReplyT reply;
  for (double runs : {1.0, 10.0}) {
    reply.kernels.push_back(std::make_unique<wire::KernelT>());
    reply.kernels.back()->dimension = std::make_unique<wire::DimensionT>();
    reply.kernels.back()->dimension->options = {"loop"};
    reply.kernels.back()->runs = runs;
  }
  auto& sum = *reply.collectives.emplace_back(std::make_unique<wire::CollectiveT>());
  sum.kind = "all-reduce";
  sum.bytes = 1e6;
  sum.devices = {0, 1};
  sum.runs = 3;
  reply.moved_bytes = 5000;
  reply.peak_bytes = 999'999'999;
  OneNanosecond times;
  const sim::Topology ring = a_ring(2, 1, 0);
  const ShardEstimate fits = estimate_of(reply, ring, times);
  CHECK(fits.valid);
  CHECK(fits.kernel_seconds == Approx(11e-9));
  CHECK(fits.moved_seconds == Approx(5e-9));
  CHECK(fits.collective_seconds == Approx(3e-3));
  CHECK(fits.seconds == Approx(3e-3 + 16e-9));
  reply.peak_bytes = 1'000'000'001;
  CHECK_FALSE(estimate_of(reply, ring, times).valid);
}

TEST_CASE("a search finds the sharding that costs least, and passes over those that fail", "[sharding]") {
  const test::ShardGraph g = test::two_blocks();
  const ShardSpace space = make_space(parse_mesh("2"), read_arguments(g.graph(), std::nullopt), false);
  OneNanosecond times;
  const sim::Topology ring = a_ring(2, 1, 0);
  int asked = 0;
  // The more is divided the less moves, but x by its columns cannot be compiled.
  ShardCost cost(space, ring, times, [&](const wire::PartitioningT& partitioning) {
    ++asked;
    wire::PartitionReplyT reply;
    reply.moved_bytes = 1000 - 100.0 * static_cast<double>(partitioning.shardings.size());
    for (const auto& s : partitioning.shardings)
      if (s->instruction == "x" && s->value == "{devices=[1,2]<=[2]}") throw RunError("no");
    return reply;
  });
  SearchOptions options;
  options.max_evaluations = 100;
  const SearchReport found = make_strategy("greedy")->search(space.space, space.space.default_choice(), cost, options);
  CHECK(shardings_of(space, found.best).size() == 5);
  CHECK(found.best_cost == Approx(0.5));
  const int before = asked;
  cost.estimate(found.best);
  CHECK(asked == before);
}

TEST_CASE("an estimate says whether the worker ended, and no worker ends the search", "[sharding]") {
  const test::ShardGraph g = test::two_blocks();
  const ShardSpace space = make_space(parse_mesh("2"), read_arguments(g.graph(), std::nullopt), false);
  OneNanosecond times;
  const sim::Topology ring = a_ring(2, 1, 0);
  const auto estimate = [&](const std::function<void()>& fail) {
    ShardCost cost(space, ring, times, [&](const wire::PartitioningT&) {
      fail();
      return wire::PartitionReplyT();
    });
    return cost.estimate(space.space.default_choice());
  };
  const ShardEstimate refused = estimate([] { throw RunError("no"); });
  CHECK_FALSE(refused.valid);
  CHECK_FALSE(refused.crashed);
  const ShardEstimate crashed =
      estimate([] { throw wire::WorkerFailure(wire::WorkerFailure::Kind::Crashed, "it ended"); });
  CHECK_FALSE(crashed.valid);
  CHECK(crashed.crashed);
  CHECK_THROWS_AS(estimate([] { throw wire::NoWorker("none"); }), wire::NoWorker);
}

TEST_CASE("measured shardings are ratios of rounds", "[sharding]") {
  wire::RunShardedReplyT reply;
  reply.threads = 2;
  reply.one_thread_ns = {100, 200, 300};
  reply.all_threads_ns = {50, 100, 150};
  auto& run = *reply.candidates.emplace_back(std::make_unique<wire::ShardedRunT>());
  run.verdict = wire::Verdict::Ok;
  run.times_ns = {50, 100, 100};
  const MeasuredShardings found = measured_shardings(reply, 1);
  CHECK(found.one_thread_seconds == Approx(100e-9));
  CHECK(found.candidates[0].seconds == Approx(50e-9));
  CHECK(found.candidates[0].one_thread.ratio == Approx(2));
  CHECK(found.candidates[0].all_threads.ratio == Approx(1));
  CHECK(found.candidates[0].rounds == 3);
  CHECK_THROWS_AS(measured_shardings(reply, 2), RunError);
}

}  // namespace hone::sharding
