#include "collect/machine_collect.h"

#include <catch2/catch.hpp>

#include "tests/collect/fake_collection.h"

namespace hone::collect {
namespace {

struct MachineFixture {
  TempDir folder;
  std::string shipped = (folder.path() / "shipped.db").string();
  Database database = Database::open((folder.path() / "machine.db").string());
  CodeStore code{(folder.path() / "code").string()};

  MachineFixture() {
    Database from = Database::open(shipped);
    for (const char* name : {"a", "b", "c"}) {
      StoredKernel kernel = found_kernel(name);
      kernel.program = "program", kernel.family = "family";
      from.add_kernel(kernel);
    }
  }
  MachineReport run(FakeCollectMeasurer& measurer, int64_t most = 0) {
    return measure_machine(shipped, most, {database, code}, measurer, [](const CollectProgress&) {});
  }
};

}  // namespace

TEST_CASE("a machine measures the default of each shipped kernel once", "[collect]") {
  MachineFixture fixture;
  FakeCollectMeasurer measurer(fixture.database);
  const MachineReport report = fixture.run(measurer);
  CHECK(measurer.measured_values == std::vector<std::string>{"a default", "b default", "c default"});
  CHECK(report.host == measurer.host());
  CHECK(report.kernels == 3);
  CHECK(report.measured == 3);
  CHECK(report.complete);
  CHECK(fixture.database.stored_kernels(1).size() == 3);
  CHECK(fixture.database.find_machine(measurer.host()).has_value());

  const auto code_of = [&](const char* name) { return fixture.code.find({name, "", "avx2", measurer.xla_version()}); };
  REQUIRE(code_of("a"));
  CHECK(code_of("a")->objects == std::vector<std::string>{"object of a"});
  REQUIRE(code_of("b"));
  CHECK_FALSE(code_of("b")->compiled);

  FakeCollectMeasurer again(fixture.database);
  CHECK(fixture.run(again).known == 3);
  CHECK(again.measured_values.empty());
}

TEST_CASE("as many kernels are measured as are asked for, in their order", "[collect]") {
  MachineFixture fixture;
  FakeCollectMeasurer measurer(fixture.database);
  CHECK(fixture.run(measurer, 2).kernels == 2);
  CHECK(measurer.measured_values == std::vector<std::string>{"a default", "b default"});
}

TEST_CASE("a stopped measurement leaves what there is", "[collect]") {
  MachineFixture fixture;
  FakeCollectMeasurer measurer(fixture.database);
  measurer.stop_after = 1;
  const MachineReport report = fixture.run(measurer);
  CHECK_FALSE(report.complete);
  CHECK(report.measured == 1);
  CHECK(report.host == measurer.host());
}

TEST_CASE("code that is missing is compiled although the run time is known", "[collect]") {
  MachineFixture fixture;
  FakeCollectMeasurer measurer(fixture.database);
  fixture.run(measurer);
  CodeStore other((fixture.folder.path() / "other").string());
  FakeCollectMeasurer again(fixture.database);
  const MachineReport report =
      measure_machine(fixture.shipped, 0, {fixture.database, other}, again, [](const CollectProgress&) {});
  CHECK(report.known == 3);
  CHECK(other.find({"a", "", "avx2", again.xla_version()}).has_value());
}

TEST_CASE("a machine goes on where it was stopped, and measures anew what failed", "[collect]") {
  MachineFixture fixture;
  FakeCollectMeasurer measurer(fixture.database);
  measurer.left = 2;
  measurer.answer = [](const StoredKernel& kernel, const std::string&) {
    tune::Measurement m = tune::measured(1);
    if (kernel.fingerprint == "a") m.outcome = tune::Outcome::Crashed;
    return m;
  };
  const MachineReport first = fixture.run(measurer);
  CHECK_FALSE(first.complete);
  CHECK(first.measured == 1);
  CHECK(first.failed == 1);
  FakeCollectMeasurer second(fixture.database);
  const MachineReport rest = fixture.run(second);
  CHECK(second.measured_values == std::vector<std::string>{"a default", "c default"});
  CHECK(rest.known == 1);
  CHECK(rest.complete);
}

TEST_CASE("a database without kernels is refused", "[collect]") {
  MachineFixture fixture;
  Database::open((fixture.folder.path() / "empty.db").string());
  FakeCollectMeasurer measurer(fixture.database);
  fixture.shipped = (fixture.folder.path() / "empty.db").string();
  CHECK_THROWS_AS(fixture.run(measurer), Error);
}

}  // namespace hone::collect
