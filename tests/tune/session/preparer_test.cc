#include "tune/session/preparer.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>

#include "base/clock.h"
#include "base/files.h"
#include "base/machine.h"
#include "tests/skip.h"
#include "tests/tune/program/chain.h"
#include "tests/tune/real_worker.h"
#include "wire/client.h"

namespace hone::tune {
namespace {

namespace fs = std::filesystem;

wire::TargetT one_thread() {
  wire::TargetT target;
  target.threads = 1;
  return target;
}

wire::WorkerOptions sharing(const TempDir& folder) {
  wire::WorkerOptions worker = with_worker().worker;
  worker.cache_folder = (folder.path() / "objects").string();
  return worker;
}

// Of code: that the self-test was passed lies beside.
size_t files_in(const std::string& folder) {
  if (!fs::exists(folder)) return 0;
  size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    count += entry.is_regular_file() && entry.path().string().find("/self-tests/") == std::string::npos;
  return count;
}

// True once so many candidates are compiled.
bool wait_for(const Preparer& preparer, int compiled) {
  const double start_s = steady_s();
  while (preparer.compiled() < compiled && seconds_since(start_s) < 120)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return preparer.compiled() == compiled;
}

const Decision kUnrolling{DecisionKind::Option, "loop_unrolling", "off"};
const Decision kVectors{DecisionKind::Option, "vector_width", "128"};

}  // namespace

TEST_CASE("what was prepared is in the cache that workers share", "[tune]") {
  const TempDir folder;
  const wire::WorkerOptions worker = sharing(folder);
  Preparer preparer(worker, one_thread(), kChain, "chain.hlo");
  CHECK(files_in(worker.cache_folder) == 0);
  preparer.want({{kUnrolling}, {kVectors}});
  REQUIRE(wait_for(preparer, 2));
  const size_t prepared = files_in(worker.cache_folder);
  CHECK(prepared > 0);

  SessionOptions options = with_worker();
  options.worker = worker;
  Session session(options);
  session.load(kChain, "chain.hlo");
  const Measurement m = session.measure_program({kUnrolling}, {kVectors}, {.min_rounds = 1, .max_rounds = 1});
  CHECK(m.ok());
  const size_t with_default = files_in(worker.cache_folder);  // default XLA, whose outputs are the reference
  session.measure_program({}, {}, {.min_rounds = 1, .max_rounds = 1});
  CHECK(files_in(worker.cache_folder) == with_default);
  preparer.want({{kUnrolling}});  // a second time
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  CHECK(preparer.compiled() == 2);
}

TEST_CASE("what cannot be prepared is left to the worker that measures", "[tune]") {
  const TempDir folder;
  Preparer preparer(sharing(folder), one_thread(), kChain, "chain.hlo");
  preparer.want(
      {{{DecisionKind::Weights, "all", "constant"}}, {{DecisionKind::Option, "no such option", "on"}}, {kVectors}});
  CHECK(wait_for(preparer, 1));
  wire::WorkerOptions none = sharing(folder);
  none.program = "/nonexistent";
  Preparer without(none, one_thread(), kChain, "chain.hlo");
  without.want({{kVectors}});
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  CHECK(without.compiled() == 0);
}

TEST_CASE("preparing ends at once", "[tune]") {
  const TempDir folder;
  const double start_s = steady_s();
  {
    Preparer preparer(sharing(folder), one_thread(), kChain, "chain.hlo");
    preparer.want({{kUnrolling}, {kVectors}});
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  CHECK(seconds_since(start_s) < 10);
}

TEST_CASE("a session prepares only on CPUs that measure nothing", "[tune]") {
  const TempDir folder;
  SessionOptions options = with_worker();
  options.worker = sharing(folder);
  options.worker.cpus = {0};
  options.prepare = true;
  Session session(options);
  session.load(kChain, "chain.hlo");
  session.prepare({{kVectors}});
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  CHECK(files_in(options.worker.cache_folder) == 0);
  options.worker.cpus = allowed_cpus();
  if (spare_cpus(options.worker.cpus).empty()) return skip_case("one core: there is no other to prepare on");
  Session other(options);
  other.load(kChain, "chain.hlo");
  other.prepare({{kVectors}});
  const double start_s = steady_s();
  while (files_in(options.worker.cache_folder) == 0 && seconds_since(start_s) < 120)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(files_in(options.worker.cache_folder) > 0);
}

}  // namespace hone::tune
