// With several threads a program may run with fewer.
#include <catch2/catch.hpp>
#include <set>

#include "base/files.h"
#include "base/machine.h"
#include "graph/program_option.h"
#include "tests/tune/program/chain.h"

namespace hone::tune {
namespace {

constexpr char kDivided[] = R"("outer_dimension_partitions":[")";  // lists are printed where they are empty, too

std::vector<std::string> offered(int threads, const std::string& key) {
  SessionOptions options = with_worker();
  options.target.threads = threads;
  Session session(options);
  session.load(kChain, "chain.hlo");
  for (const Dimension& d : session.lower({}, false).dimensions)
    if (d.kind == DecisionKind::Option && d.key == key) return d.options;
  return {};
}

}  // namespace

TEST_CASE("fewer threads are an option where there are several", "[tune]") {
  if (no_worker()) return;
  CHECK(offered(1, kIntraOpThreads).empty());
  CHECK(offered(2, kIntraOpThreads) == std::vector<std::string>{"all", "1"});
  CHECK(offered(4, kIntraOpThreads) == std::vector<std::string>{"all", "half", "1"});
}

TEST_CASE("a program for two threads may be lowered and run for one", "[tune]") {
  if (no_worker()) return;
  SessionOptions options = with_worker();
  options.target.threads = 2;
  Session session(options);
  session.load(read_file(HONE_SOURCE_DIR "/examples/softmax_gelu_chain.mlir"), "softmax_gelu_chain");
  const Decisions one = {{DecisionKind::Option, kIntraOpThreads, "1"}};
  // For two threads XLA divides the loops of large fusions where there are two CPUs, for one it does not.
  if (allowed_cpus().size() > 1) CHECK(session.lower({}, true).hlo.find(kDivided) != std::string::npos);
  CHECK(session.lower(one, true).hlo.find(kDivided) == std::string::npos);
  const auto threads_of = [&](const Decisions& decisions) {
    std::set<int> threads;
    for (const RunSlice& slice : session.profile(decisions, 3).slices) threads.insert(slice.thread);
    return threads.size();
  };
  CHECK(threads_of(one) <= 1);  // 0: XLA has no profiler
  const Measurement measured = session.measure_program(one, {}, {.min_rounds = 2, .max_rounds = 2});
  CHECK(measured.ok());
}

TEST_CASE("how threads wait is an option where there are several", "[tune]") {
  if (no_worker()) return;
  CHECK(offered(1, kWaitPolicy).empty());
  CHECK(offered(2, kWaitPolicy) == std::vector<std::string>{"passive", "active"});
}

// Loops in parts and dots of YNNPACK; dots and a loop over steps; a convolution of Eigen. Also with more threads than there are cores.
TEST_CASE("programs compute the same while their threads wait actively", "[tune]") {
  if (no_worker()) return;
  const Decisions active = {{DecisionKind::Option, kWaitPolicy, "active"}};
  for (const std::string name : {"llama_block", "lstm_scan", "conv_block"})
    for (int threads : {2, 5}) {
      INFO(name << " with " << threads << " threads");
      SessionOptions options = with_worker();
      options.target.threads = threads;
      Session session(options);
      session.load(read_file(HONE_SOURCE_DIR "/examples/" + name + ".mlir"), name);
      const auto expected = session.run({}, 1, true), computed = session.run(active, 40, true);
      REQUIRE(!expected.outputs.empty());
      REQUIRE(computed.outputs.size() == expected.outputs.size());
      CHECK(computed.times_ns.size() == 40);
      for (size_t i = 0; i < expected.outputs.size(); ++i)
        CHECK(computed.outputs[i]->data == expected.outputs[i]->data);
    }
}

// Both have the same threads; that these sleep between runs is tested in active_pool_test.cc.
TEST_CASE("two programs run by turns with threads that wait actively", "[tune]") {
  if (no_worker()) return;
  SessionOptions options = with_worker();
  options.target.threads = 2;
  Session session(options);
  session.load(read_file(HONE_SOURCE_DIR "/examples/softmax_gelu_chain.mlir"), "softmax_gelu_chain");
  const Decisions active = {{DecisionKind::Option, kWaitPolicy, "active"}};
  Decisions both = active;
  both.push_back({DecisionKind::Option, "vector_width", "128"});
  const Measurement measured = session.measure_program(both, active, {.min_rounds = 5, .max_rounds = 5});
  CHECK(measured.ok());
}

}  // namespace hone::tune
