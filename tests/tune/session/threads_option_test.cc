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

std::vector<std::string> offered(int threads) {
  SessionOptions options = with_worker();
  options.target.threads = threads;
  Session session(options);
  session.load(kChain, "chain.hlo");
  for (const Dimension& d : session.lower({}, false).dimensions)
    if (d.kind == DecisionKind::Option && d.key == kIntraOpThreads) return d.options;
  return {};
}

}  // namespace

TEST_CASE("fewer threads are an option where there are several", "[tune]") {
  if (no_worker()) return;
  CHECK(offered(1).empty());
  CHECK(offered(2) == std::vector<std::string>{"all", "1"});
  CHECK(offered(4) == std::vector<std::string>{"all", "half", "1"});
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

}  // namespace hone::tune
