#include "collect/known_winners.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "tests/tune/sum_kernel.h"
#include "tune/kernel/transfer.h"

namespace hone::collect {
namespace {

constexpr char kIsa[] = "avx512";

// A database of collected kernels, each measured with its options.
class Collected {
 public:
  Collected() : database_(Database::open((folder_.path() / "collected.db").string())) {}

  void add(const Kernel& kernel, const std::string& program, const std::map<std::string, double>& ratios) {
    StoredKernel stored;
    stored.fingerprint = kernel.fingerprint;
    stored.program = stored.family = program;
    stored.kind = kernel.kind;
    stored.name = kernel.name;
    stored.decision = "codegen";
    stored.options = kernel.dimension.options;
    stored.module_proto = kernel.module;
    stored.hlo = "HloModule m";
    database_.add_kernel(stored);
    for (const auto& [value, ratio] : ratios) {
      Record row;
      row.scope = "kernel";
      row.kernel = kernel.fingerprint;
      row.decisions = value;
      row.baseline_ns = 1000;
      row.candidate_ns = 1000 / ratio;
      row.ratio = row.ratio_low = row.ratio_high = ratio;
      row.rounds = 5;
      row.verified = true;
      row.status = "ok";
      row.host = "a machine";
      row.xla_version = "1";
      database_.add(row);
    }
  }
  const Database& database() const { return database_; }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

 private:
  TempDir folder_;
  Database database_;
};

Record on_another_machine() {
  Record conditions;
  conditions.program = "p";
  conditions.host = "another machine";
  conditions.xla_version = "1";
  return conditions;
}

}  // namespace

TEST_CASE("a machine that has measured nothing opens with the winners of training programs", "[collect]") {
  Collected collected;
  collected.add(tune::sum_kernel("won", 128, 256), "trained", {{"default", 1}, {"loop", 0.9}, {"tile=8,256", 1.4}});
  collected.add(tune::sum_kernel("kept", 128, 256, "subtract"), "trained", {{"default", 1}, {"tile=8,256", 0.7}});
  collected.add(tune::sum_kernel("tested", 128, 256, "divide"), "tested", {{"default", 1}, {"tile=8,256", 1.4}});
  collected.add(tune::sum_kernel("once", 128, 256, "power"), "trained", {{"default", 1}});
  Database known = Database::open(collected.path("known.db"));
  const KnownWinnersReport report =
      add_known_winners(collected.database(), {.isa = kIsa, .programs = {"trained"}}, known);
  CHECK(report.kernels == 2);
  CHECK(report.winners == 1);
  CHECK(report.kept == 2);

  Database own = Database::open(collected.path("own.db"));
  const tune::Transfer transfer(own, on_another_machine(), &known, tune::machine_class(kIsa));
  const Kernel larger = tune::sum_kernel("new", 512, 512);
  const std::vector<int> options = transfer.options(larger);
  REQUIRE(options.size() == 1);
  CHECK(larger.dimension.options[options[0]] == "tile=8,512");                   // a whole row, as it won
  CHECK(transfer.options(tune::sum_kernel("s", 512, 512, "subtract")).empty());  // default XLA won
  CHECK(transfer.options(tune::sum_kernel("d", 512, 512, "divide")).empty());    // of a test program only
  CHECK(tune::Transfer(own, on_another_machine(), &known, tune::machine_class("avx2")).options(larger).empty());
  CHECK(tune::Transfer(own, on_another_machine()).options(larger).empty());
}

TEST_CASE("what this machine measured itself comes before the shipped winners", "[collect]") {
  Collected collected;
  collected.add(tune::sum_kernel("won", 128, 256), "trained", {{"default", 1}, {"tile=8,256", 1.4}});
  Database known = Database::open(collected.path("known.db"));
  add_known_winners(collected.database(), {.isa = kIsa, .programs = {"trained"}}, known);
  Database own = Database::open(collected.path("own.db"));
  tune::Transfer transfer(own, on_another_machine(), &known, tune::machine_class(kIsa));
  transfer.remember(tune::sum_kernel("mine", 128, 256), "loop", tune::measured(1.3));
  const Kernel larger = tune::sum_kernel("new", 512, 512);
  const std::vector<int> options = transfer.options(larger);
  REQUIRE(options.size() == 1);
  CHECK(larger.dimension.options[options[0]] == "loop");
}

TEST_CASE("of one structure the kernels that run longest are kept, and no output twice", "[collect]") {
  Collected collected;
  for (const int64_t rows : {64, 128, 256})
    collected.add(tune::sum_kernel("k" + std::to_string(rows), rows, 256), "trained", {{"default", 1}, {"loop", 1.4}});
  collected.add(tune::sum_kernel("again", 64, 256), "trained", {{"default", 1}, {"loop", 1.2}});
  Database known = Database::open(collected.path("known.db"));
  const KnownWinnersReport report =
      add_known_winners(collected.database(), {.isa = kIsa, .programs = {"trained"}, .per_structure = 2}, known);
  CHECK(report.structures == 1);
  CHECK(report.kernels == 4);
  CHECK(report.kept == 2);
}

TEST_CASE("a sealed database is one file", "[collect]") {
  Collected collected;
  collected.add(tune::sum_kernel("won", 128, 256), "trained", {{"default", 1}, {"loop", 1.4}});
  const std::string path = collected.path("known.db");
  {
    Database known = Database::open(path);
    add_known_winners(collected.database(), {.isa = kIsa, .programs = {"trained"}}, known);
    known.seal();
  }
  const Database known = Database::open(path, {.read_only = true});
  CHECK(known.info().records == 2);
  CHECK_FALSE(std::filesystem::exists(path + "-wal"));
  CHECK_FALSE(std::filesystem::exists(path + "-shm"));
}

TEST_CASE("winners need measurements", "[collect]") {
  Collected collected;
  Database known = Database::open(collected.path("known.db"));
  CHECK_THROWS_AS(add_known_winners(collected.database(), {.isa = kIsa}, known), Error);
}

}  // namespace hone::collect
