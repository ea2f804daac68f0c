// Repeated visits, machines, and the run times that data sets take from them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/collect/fake_collection.h"

namespace hone::collect {

TEST_CASE("every candidate is visited once before any is visited again", "[collect]") {
  Fixture fixture;
  FakeCollectMeasurer measurer = fixture.measurer();
  measurer.answer = [n = 0](auto&, auto&) mutable { return tune::measured(1.25 + 0.001 * ++n); };  // rows that differ
  fixture.options.kind = CollectKind::Fusion;
  fixture.options.visits = 2;
  const CollectReport report = fixture.run(measurer);
  const auto& values = measurer.measured_values;
  const auto fresh = std::find(values.begin(), values.end(), "fresh");
  REQUIRE(fresh != values.end());
  const std::vector<std::string> first(values.begin(), fresh), second(fresh + 1, values.end());
  CHECK(first == second);
  CHECK(std::set<std::string>(first.begin(), first.end()).size() == static_cast<size_t>(report.kernels));
  CHECK(report.planned == 2 * report.kernels);
  CHECK(report.measured == 2 * report.kernels);
  CHECK(report.complete);

  fixture.options.visits = 3;  // continues with what is missing
  FakeCollectMeasurer third = fixture.measurer();
  const CollectReport more = fixture.run(third);
  CHECK(more.known == 2 * more.kernels);
  CHECK(more.measured == more.kernels);
}

TEST_CASE("a candidate that failed is not visited again", "[collect]") {
  Fixture fixture;
  FakeCollectMeasurer measurer = fixture.measurer();
  measurer.answer = [](const StoredKernel&, const std::string& value) {
    return value == "loop" ? tune::failed(tune::Outcome::CompileFailed) : tune::measured(1.25);
  };
  fixture.options.visits = 2;
  fixture.run(measurer);
  const auto& values = measurer.measured_values;
  CHECK(std::count(values.begin(), values.end(), "first-1 loop") == 1);
  CHECK(std::count(values.begin(), values.end(), "first-1 tile=8,8") == 2);
}

TEST_CASE("cold times are collected and exported beside the others", "[collect]") {
  Fixture fixture;
  fixture.options.kind = CollectKind::Fusion;
  FakeCollectMeasurer warm = fixture.measurer();
  warm.answer = [](auto&, auto&) { return tune::measured(1); };
  const CollectReport first = fixture.run(warm);
  fixture.options.cold = true;
  FakeCollectMeasurer cold = fixture.measurer();
  cold.answer = [](auto&, auto&) { return tune::measured(2); };
  const CollectReport second = fixture.run(cold);
  CHECK(second.known == 0);
  CHECK(second.measured == first.measured);
  CHECK(fixture.run(cold).known == first.measured);
  const std::string kernel = fixture.database.stored_kernels(fixture.options.threads).at(0).fingerprint;
  const auto rows = [&](const char* scope) {
    return fixture.database.find_kernel(kernel, cold.host(), fixture.options.threads, cold.xla_version(), scope);
  };
  REQUIRE(rows("kernel").size() == 1);
  REQUIRE(rows("cold kernel").size() == 1);
  CHECK(rows("kernel")[0].ratio == 1);
  CHECK(rows("cold kernel")[0].ratio == 2);
  // A database of cold times alone has conditions to export, too.
  Fixture alone;
  alone.options.kind = CollectKind::Fusion;
  alone.options.cold = true;
  FakeCollectMeasurer other = alone.measurer();
  CHECK(alone.run(other).complete);
  CHECK(measured_most(alone.database, {.cold = true}).host == other.host());
  CHECK_THROWS_AS(measured_most(alone.database, {}), Error);
}

namespace {

// Of two programs, each lowered as it is and under two configurations: two are to be had, or wanted.
FakeCollectMeasurer gathered(Fixture& fixture, Varied varied, int configurations) {
  fixture.options.kind = CollectKind::Fusion;
  fixture.options.varied = varied;
  FakeCollectMeasurer measurer = fixture.measurer();
  fixture.options.configurations = configurations;
  CHECK(fixture.run(measurer).complete);
  REQUIRE(measurer.lowered.size() == 6);
  CHECK(measurer.lowered[0].empty());
  return measurer;
}

}  // namespace

TEST_CASE("kernels are gathered under random layouts, as many as there are", "[collect]") {
  Fixture fixture;
  const FakeCollectMeasurer measurer = gathered(fixture, Varied::Layouts, 5);
  CHECK(measurer.lowered[1] == Decisions{{DecisionKind::Layout, "dot.1", "0,1"}});
  CHECK(measurer.lowered[2] == Decisions{{DecisionKind::Layout, "dot.1", "1,0"}});
  const auto& values = measurer.measured_values;
  CHECK(std::count_if(values.begin(), values.end(),
                      [](const std::string& value) { return value.find("dot.1=0,1") != std::string::npos; }) == 2);
}

TEST_CASE("kernels are gathered under other forms of operations, whole families first", "[collect]") {
  Fixture fixture;
  const FakeCollectMeasurer measurer = gathered(fixture, Varied::Forms, 2);
  CHECK(measurer.lowered[1].size() == 2);
  CHECK(measurer.lowered[2].size() == 1);
  for (const Decision& d : measurer.lowered[1]) CHECK(d.value == "ynn");
}

TEST_CASE("a collection records its machine", "[collect]") {
  Fixture fixture;
  FakeCollectMeasurer measurer = fixture.measurer();
  fixture.run(measurer);
  const auto record = fixture.database.find_machine("cpu, 2 cores");
  REQUIRE(record);
  CHECK(features::machine_record_from_json(nlohmann::json::parse(*record), "record") == measurer.machine());
  Database merged = Database::open(fixture.folder.path() / "merged.db");
  merged.merge(fixture.folder.path() / "kernels.db");
  CHECK(merged.find_machine("cpu, 2 cores") == record);
  CHECK_FALSE(merged.find_machine("another"));
}

TEST_CASE("a run time is the median over careful visits", "[collect]") {
  const auto row = [](double first, double second, int rounds, const std::string& value = "default") {
    Record record;
    record.status = "ok";
    record.decisions = value;
    record.baseline_ns = first;
    record.candidate_ns = second;
    record.rounds = rounds;
    return record;
  };
  CHECK_FALSE(default_run_time({}, "default"));
  CHECK_FALSE(default_run_time({row(100, 100, 16, "loop")}, "default"));
  CHECK(default_run_time({row(100, 110, 16), row(200, 200, 6), row(120, 120, 8)}, "default") == 120);
  // Quick duels count only without a careful one, and the shorter of them not.
  CHECK(default_run_time({row(500, 500, 3), row(100, 110, 16)}, "default") == 105);
  CHECK(default_run_time({row(100, 110, 16), row(500, 500, 3)}, "default") == 105);
  CHECK(default_run_time({row(500, 500, 3), row(100, 100, 5), row(300, 300, 5)}, "default") == 200);
  // On a core that was slower than at another visit, none; one that was not watched tells nothing about it.
  const auto watched = [&](double ns, double core_ns) {
    Record record = row(ns, ns, 16);
    record.core_ns = core_ns;
    return record;
  };
  CHECK(default_run_time({watched(140, 35), watched(100, 23), watched(104, 24), watched(150, 28)}, "default") == 102);
  CHECK(default_run_time({watched(140, 35)}, "default") == 140);
  CHECK(default_run_time({watched(140, 35), watched(100, 23), row(120, 120, 16)}, "default") == 110);
  // As many cycles on a core of another speed; one that is far slower is not only slower.
  CHECK(default_run_time({watched(100, 20), watched(110, 22)}, "default", 22) == 110);
  CHECK(default_run_time({watched(140, 35)}, "default", 22) == 140);
  CHECK(default_run_time({row(100, 100, 16)}, "default", 22) == 100);
  UsualCore core;
  CHECK(core.ns() == 0);
  core.add({row(1, 1, 16)});
  CHECK(core.ns() == 0);
  core.add({watched(1, 20), watched(1, 30)});
  core.add({watched(1, 24)});
  CHECK(core.ns() == 24);
  Record failed = row(100, 100, 16);
  failed.status = "mismatch";
  CHECK_FALSE(default_run_time({failed}, "default"));
}

TEST_CASE("a host's folder has small letters, digits and hyphens", "[collect]") {
  CHECK(host_folder("Intel(R) Xeon(R) Processor, 2 cores") == "intel-r-xeon-r-processor-2-cores");
  CHECK(host_folder("AMD EPYC, 2 cores, at most sse4.2") == "amd-epyc-2-cores-at-most-sse4-2");
  CHECK(host_folder("") == "unknown");
}

}  // namespace hone::collect
