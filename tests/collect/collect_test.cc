#include "collect/collect.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "tests/collect/fake_collection.h"

namespace hone::collect {
namespace {

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    return std::string(e.what()) + " | " + e.where();
  }
  return "nothing thrown";
}

}  // namespace

TEST_CASE("every option of every kernel is measured, programs in turn", "[collect]") {
  Fixture fixture;
  FakeCollectMeasurer measurer = fixture.measurer();
  const CollectReport report = fixture.run(measurer);
  CHECK(report.complete);
  CHECK(report.programs == 2);
  CHECK(report.configurations == 4);  // XLA's own and one random for each
  CHECK(report.kernels == report.kernels_new);
  CHECK(report.measured == report.planned);
  CHECK(report.ok == report.measured);
  REQUIRE(measurer.measured_values.size() >= 12);
  CHECK(measurer.measured_values[0] == "first-1 default");
  CHECK(measurer.measured_values[3] == "second-1 default");
  CHECK(measurer.measured_values[6] == "first-2 default");
  const std::set<std::string> distinct(measurer.measured_values.begin(), measurer.measured_values.end());
  CHECK(distinct.size() == measurer.measured_values.size());
  CHECK(fixture.database.find_stored_program("first")->fingerprint == "fp-first");
}

TEST_CASE("a second collection measures only what is missing", "[collect]") {
  Fixture fixture;
  FakeCollectMeasurer first = fixture.measurer();
  first.stop_after = 4;  // as Ctrl-C does
  const CollectReport cut = fixture.run(first);
  CHECK_FALSE(cut.complete);
  CHECK(cut.measured == 4);
  FakeCollectMeasurer second = fixture.measurer();
  const CollectReport rest = fixture.run(second);
  CHECK(rest.complete);
  CHECK(rest.known == 4);
  CHECK(rest.known + rest.measured == rest.planned);
  CHECK(rest.kernels_new == 0);
  CHECK(second.lowered.empty());
  for (const std::string& value : first.measured_values)
    CHECK(std::count(second.measured_values.begin(), second.measured_values.end(), value) == 0);
  FakeCollectMeasurer third = fixture.measurer();
  CHECK(fixture.run(third).measured == 0);
}

TEST_CASE("the time limit ends a collection between candidates", "[collect]") {
  Fixture fixture;
  FakeCollectMeasurer measurer = fixture.measurer();
  measurer.left = 5;
  const CollectReport report = fixture.run(measurer);
  CHECK(report.measured == 5);
  CHECK_FALSE(report.complete);
}

TEST_CASE("without time for lowering, known programs are not opened again", "[collect]") {
  Fixture fixture;
  FakeCollectMeasurer first = fixture.measurer();
  fixture.options.gather_share = 0;
  fixture.options.configurations = 5;
  CHECK(fixture.run(first).configurations == 2);  // XLA's own in any case
  FakeCollectMeasurer second = fixture.measurer();
  fixture.options.configurations = 5;
  CHECK(fixture.run(second).configurations == 0);
  CHECK(second.lowered.empty());
}

TEST_CASE("kernels that several programs share are kept once", "[collect]") {
  Fixture fixture;
  FakeCollectMeasurer measurer = fixture.measurer();
  measurer.programs["second"] = measurer.programs["first"];
  fixture.run(measurer);
  CHECK(std::count(measurer.measured_values.begin(), measurer.measured_values.end(), "first-1 default") == 1);
  CHECK(fixture.database.find_stored_kernel("first-1", 1)->program == "first");
}

TEST_CASE("the cap per program holds, whatever the programs offer", "[collect]") {
  Fixture fixture;
  FakeCollectMeasurer measurer = fixture.measurer();
  fixture.options.max_per_program = 1;
  const CollectReport report = fixture.run(measurer);
  CHECK(report.kernels == 2);
  CHECK(report.planned == 6);
  CHECK(measurer.measured_values.size() == 6);
}

TEST_CASE("the fusion data set measures defaults only, and again if they were measured with few rounds", "[collect]") {
  Fixture fixture;
  FakeCollectMeasurer measurer = fixture.measurer();
  fixture.run(measurer);
  fixture.options.kind = CollectKind::Fusion;
  FakeCollectMeasurer again = fixture.measurer();
  const CollectReport report = fixture.run(again);
  CHECK(report.known == 0);
  CHECK(report.measured == report.kernels);
  for (const std::string& value : again.measured_values) CHECK(value.find(" default") != std::string::npos);
  FakeCollectMeasurer third = fixture.measurer();
  CHECK(fixture.run(third).measured == 0);
}

TEST_CASE("a kernel without a usable default is measured once", "[collect]") {
  Fixture fixture;
  FakeCollectMeasurer measurer = fixture.measurer();
  measurer.answer = [](const StoredKernel& kernel, const std::string&) {
    return kernel.fingerprint == "first-1" ? tune::failed(tune::Outcome::Mismatch) : tune::measured(1);
  };
  const CollectReport report = fixture.run(measurer);
  CHECK(report.rejected == 1);
  CHECK(std::count(measurer.measured_values.begin(), measurer.measured_values.end(), "first-1 loop") == 0);
  CHECK(report.complete);
  CHECK(report.measured == report.planned);
  FakeCollectMeasurer again = fixture.measurer();
  CHECK(fixture.run(again).measured == 0);
}

TEST_CASE("a crashing candidate is skipped, and the kernel after three crashes", "[collect]") {
  Fixture fixture;
  FakeCollectMeasurer measurer = fixture.measurer();
  measurer.programs["first"] = {
      found_kernel("first-1", {"default", "loop", "loop;slp=0", "tile=1", "tile=2", "tile=4", "tile=8"})};
  measurer.answer = [](const StoredKernel& kernel, const std::string& value) {
    const bool dies = (kernel.fingerprint == "first-1" && value != "default") || value == "tile=8,8";
    return dies ? tune::failed(tune::Outcome::Crashed) : tune::measured(1);
  };
  const CollectReport report = fixture.run(measurer);
  CHECK(report.complete);
  int of_first = 0;
  for (const std::string& value : measurer.measured_values) of_first += value.rfind("first-1 ", 0) == 0;
  CHECK(of_first == 4);
  CHECK(std::count(measurer.measured_values.begin(), measurer.measured_values.end(), "second-2 tile=8,8") == 1);
  FakeCollectMeasurer again = fixture.measurer();
  again.answer = measurer.answer;
  CHECK(fixture.run(again).measured == 0);
}

TEST_CASE("tiles no smaller than one that was slow to compile come last", "[collect]") {
  Fixture fixture;
  FakeCollectMeasurer measurer = fixture.measurer();
  const std::vector<std::string> options = {"default", "loop", "tile=16,16", "tile=8,32", "tile=32,8", "tile=2,4"};
  measurer.programs["first"] = {found_kernel("slow", options)};
  measurer.programs["second"] = {found_kernel("fast", options)};
  const auto is_slow = [](const std::string& value) {
    return value == "tile=16,16" || value == "tile=8,32" || value == "tile=32,8";
  };
  measurer.answer = [&](const StoredKernel& kernel, const std::string& value) {
    tune::Measurement m = tune::measured(1.25);
    m.compile_ms = kernel.fingerprint == "slow" && is_slow(value) ? 900 : 30;
    return m;
  };
  const CollectReport report = fixture.run(measurer);
  CHECK(report.complete);
  CHECK(report.measured == report.planned);
  const std::vector<std::string>& order = measurer.measured_values;
  const auto place = [&](const std::string& one) { return std::find(order.begin(), order.end(), one) - order.begin(); };
  int in_turn = 0;
  for (const std::string& value : options) {
    REQUIRE(place("slow " + value) < std::ssize(order));
    const bool before_others = place("slow " + value) < place("fast default");
    if (is_slow(value)) in_turn += before_others;
    if (!is_slow(value)) CHECK(before_others);
  }
  CHECK(in_turn == 1);  // the first one shows that the others are slow

  // Interrupted after the first slow one, the next collection knows it.
  Fixture other;
  FakeCollectMeasurer cut = other.measurer();
  cut.programs = measurer.programs;
  cut.answer = measurer.answer;
  const auto first_slow = std::find_if(order.begin(), order.end(), [&](const std::string& one) {
    return one.starts_with("slow ") && is_slow(one.substr(5));
  });
  cut.stop_after = static_cast<int>(first_slow - order.begin()) + 1;
  CHECK_FALSE(other.run(cut).complete);
  FakeCollectMeasurer rest = other.measurer();
  rest.programs = measurer.programs;
  rest.answer = measurer.answer;
  CHECK(other.run(rest).complete);
  const std::vector<std::string>& then = rest.measured_values;
  CHECK(std::find(then.begin(), then.end(), "fast default") < std::find_if(then.begin(), then.end(), [&](auto& one) {
          return one.starts_with("slow ") && is_slow(one.substr(5));
        }));
}

TEST_CASE("programs that cannot be lowered are left out", "[collect]") {
  Fixture fixture;
  FakeCollectMeasurer measurer = fixture.measurer();
  measurer.unreadable = {"first"};
  const CollectReport report = fixture.run(measurer);
  CHECK(report.programs_failed == 1);
  CHECK(report.measured > 0);
  FakeCollectMeasurer none = fixture.measurer();
  none.unreadable = {"first", "second"};
  fixture.options.configurations = 2;  // more than there are
  CHECK_THROWS_AS(fixture.run(none), Error);
}

TEST_CASE("a configuration that breaks the compiler is skipped", "[collect]") {
  Fixture fixture;
  FakeCollectMeasurer measurer = fixture.measurer();
  measurer.lowering_dies = true;
  fixture.options.configurations = 3;
  const CollectReport report = fixture.run(measurer);
  CHECK(report.programs_failed == 0);
  CHECK(report.configurations_failed > 0);
  CHECK(report.complete);
}

TEST_CASE("another program of the same name is not taken for the first", "[collect]") {
  Fixture fixture;
  FakeCollectMeasurer measurer = fixture.measurer();
  fixture.run(measurer);
  write_file(fixture.folder.path() / "first", "HloModule another");
  FakeCollectMeasurer again = fixture.measurer();
  CHECK(fixture.run(again).programs_failed == 1);
  fixture.programs[1].name = "first";
  CHECK(message_of([&] { fixture.run(again); }).find("the name 'first'") != std::string::npos);
}

TEST_CASE("planned options begin with the default and are the same each time", "[collect]") {
  std::vector<std::string> values = {"default", "loop", "loop;unroll=0", "loop;slp=0", "loop;size=1"};
  for (int i = 0; i < 60; ++i) values.push_back("tile=" + std::to_string(i + 1) + ",8");
  const StoredKernel kernel = found_kernel("k", values);
  CollectOptions options;
  options.max_options = 24;
  const auto planned = planned_options(kernel, options);
  CHECK(planned.size() == 24);
  CHECK(planned[0] == "default");
  CHECK(planned == planned_options(kernel, options));
  CHECK(std::set<std::string>(planned.begin(), planned.end()).size() == 24);
  for (const char* value : {"loop", "loop;unroll=0", "loop;slp=0", "loop;size=1"})
    CHECK(std::count(planned.begin(), planned.end(), value) == 1);
  options.seed = 1;
  CHECK(planned != planned_options(kernel, options));
  options.max_options = 0;
  CHECK(planned_options(kernel, options).size() == values.size());
  options.kind = CollectKind::Fusion;
  CHECK(planned_options(kernel, options) == std::vector<std::string>{"default"});
}

TEST_CASE("errors in a manifest name the entry", "[collect]") {
  const TempDir folder;
  const std::string path = folder.path() / "list.json";
  const auto message = [&](const std::string& content) {
    write_file(path, content);
    return message_of([&] { read_manifest(path); });
  };
  CHECK(message("{").find("JSON list") != std::string::npos);
  CHECK(message("[]").find("JSON list") != std::string::npos);
  CHECK(message(R"([{"name": "a", "file": "a.hlo"}, {"name": "b"}])").find("entry 1") != std::string::npos);
  CHECK(message(R"([{"file": "a.hlo"}])").find("without a name") != std::string::npos);
  write_file(path, R"([{"name": "a", "file": "sub/a.hlo", "family": "f"}, {"name": "b", "file": "b.hlo"}])");
  const auto programs = read_manifest(path);
  REQUIRE(programs.size() == 2);
  CHECK(programs[0].file == (folder.path() / "sub" / "a.hlo").string());
  CHECK(programs[0].family == "f");
  CHECK(programs[1].family == "b");
}

}  // namespace hone::collect
