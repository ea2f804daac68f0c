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
  out.threads.reset();
  for (sim::Link& link : out.links) link = {"link", gb_per_s * 1e9, latency_s};
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

TEST_CASE("host devices meet for every operand of a collective", "[sharding]") {
  const sim::Topology two = host_devices(2, 1e9), four = host_devices(4, 1e9);
  const double meeting = 50e-6;
  CHECK(collective_seconds({"all-reduce", 0, {0, 1}, 1}, two) == Approx(3e-6));
  // Bytes as a ring moves them, whatever meets: 1 MB of two devices is 1 MB a device, of four 1.5.
  CHECK(collective_seconds({"all-reduce", 1e6, {0, 1}, 1}, two) == Approx(meeting + 1e6 / 3e9));
  CHECK(collective_seconds({"all-reduce", 1e6, first(4), 1}, four) == Approx(meeting + 1.5e6 / 3e9));
  CHECK(collective_seconds({"all-gather", 0, {0}, 1}, two) == 0);
  CHECK(collective_seconds({"all-reduce", 0, first(4), 1}, a_ring(4, 1, 1e-6)) == 0);
}

TEST_CASE("the other groups of a collective lie on the mesh as the first", "[sharding]") {
  using Groups = std::vector<std::vector<int>>;
  CHECK(groups_beside({0, 2}, 4) == Groups{{0, 2}, {1, 3}});                    // 2x2 along x
  CHECK(groups_beside({0, 1}, 4) == Groups{{0, 1}, {2, 3}});                    // along y
  CHECK(groups_beside({0, 4}, 8) == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});    // 2x4 along x
  CHECK(groups_beside({0, 1, 2, 3}, 8) == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});  // along y
  CHECK(groups_beside({0, 2, 4, 6}, 8) == Groups{{0, 2, 4, 6}, {1, 3, 5, 7}});  // 4x2 along x
  CHECK(groups_beside({0, 1}, 8) == Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}});    // along y
  CHECK(groups_beside({0, 2}, 8) == Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}});    // 2x2x2 along y
  CHECK(groups_beside({0, 1, 4, 5}, 8) == Groups{{0, 1, 4, 5}, {2, 3, 6, 7}});  // along x and z
  CHECK(groups_beside({0, 1, 2, 3}, 4) == Groups{{0, 1, 2, 3}});                // all
  CHECK(groups_beside({5, 4}, 8) == Groups{{5, 4}, {1, 0}, {3, 2}, {7, 6}});    // not from the first device on
}

TEST_CASE("groups that exchange at once share links", "[sharding]") {
  // Two switches of four devices each, joined by one link: along x of 2x4 four groups cross it, along y none does.
  const sim::Topology pcie = sim::parse_topology(R"(
name = "two switches"
switches = ["s0", "s1"]
[[device]]
name = "gpu"
count = 8
memory_gib = 1
matrix_tflops = 1
vector_tflops = 1
special_tops = 1
memory_gb_per_s = 100
launch_us = 1
[[link]]
name = "slot"
kind = "star"
between = ["s0", "gpu0", "gpu1", "gpu2", "gpu3"]
gb_per_s = 10
latency_us = 1
[[link]]
name = "slot"
kind = "star"
between = ["s1", "gpu4", "gpu5", "gpu6", "gpu7"]
gb_per_s = 10
latency_us = 1
[[link]]
name = "between"
between = ["s0", "s1"]
gb_per_s = 10
latency_us = 1
)",
                                                 "test");
  const double bytes = 1e6, alone = bytes / 10e9;
  const auto permuted = [&](std::vector<int> group) {
    return collective_seconds({"collective-permute", bytes, std::move(group), 1}, pcie);
  };
  CHECK(permuted({0, 4}) == Approx(3e-6 + 4 * alone));  // 2x4 along x
  CHECK(permuted({0, 1}) == Approx(2e-6 + alone));      // 4x2 along y
  // A ring of all: one pair crosses in each direction.
  CHECK(collective_seconds({"all-gather", bytes, first(8), 1}, pcie) == Approx(7 * (3e-6 + alone)));
  CHECK(collective_seconds({"all-gather", bytes, {0, 1, 2, 3}, 1}, pcie) == Approx(3 * (2e-6 + alone)));      // 2x4, y
  CHECK(collective_seconds({"all-gather", bytes, {0, 2, 4, 6}, 1}, pcie) == Approx(3 * (3e-6 + 2 * alone)));  // 4x2, x
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
