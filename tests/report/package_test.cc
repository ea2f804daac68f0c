#include "report/package.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "report/program_file.h"
#include "tests/tune/fake_measurer.h"

namespace hone::report {

namespace fs = std::filesystem;

namespace {

Package a_package() {
  Package p;
  p.program_bytes = std::string("proto\0bytes", 11);
  p.tuned_hlo = "HloModule m\n";
  p.file = "m.hlo";
  TuneReport& r = p.report;
  r.program = "m";
  r.fingerprint = "f00";
  r.tuned_fingerprint = "ba5";
  r.target = {.threads = 2, .seed = 7, .weights = {0, 3, 4, 5}, .allow_fast_math = true};
  r.xla_version = "2.21.0";
  r.host = "a CPU, 2 cores";
  r.made_with = {"a CPU", 2, "avx2", {"avx", "avx2"}, "0.2.0", "2.21.0", {{"onednn", "3.9.0"}}};
  r.decisions = {{DecisionKind::Codegen, "k1", "tile=8,8"}, {DecisionKind::Option, "vector_width", "512"}};
  r.default_ns = 2e6;
  r.tuned_ns = 1.6e6;
  r.speedup = 1.25;
  r.speedup_low = 1.24;
  r.speedup_high = 1.26;
  r.rounds = 30;
  r.verified = true;
  r.counters = {120, 3, 4};
  r.seconds = 61.5;
  tune::KernelReport k;
  k.name = "fusion.1";
  k.kind = "fusion";
  k.key = k.fingerprint = "k1";
  k.default_value = "tile=1,16";
  k.chosen = "tile=8,8";
  k.gain = 1.5;
  k.share = 0.4;
  k.kept = true;
  k.top = {{"tile=8,8", tune::measured(1.5)}, {"loop", tune::failed(tune::Outcome::Crashed)}};
  r.kernels = {k};
  r.steps = {{"1 tuned kernels", tune::measured(1.25), true}};
  return p;
}

}  // namespace

TEST_CASE("a package reads back what was written", "[tune]") {
  TempDir dir;
  const std::string path = (dir.path() / "m.hone").string();
  write_package(path, a_package(), false);
  for (const char* name : {"program.pb", "tuned.hlo", "decisions.json", "report.json", "report.txt"})
    CHECK(fs::is_regular_file(fs::path(path) / name));
  CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 1);  // no leftovers

  const LoadedPackage loaded = read_package(path);
  const Package wrote = a_package();
  CHECK(loaded.program_bytes == wrote.program_bytes);
  CHECK(loaded.name == "m");
  CHECK(loaded.file == "m.hlo");
  CHECK(loaded.decisions == wrote.report.decisions);
  CHECK(loaded.target.threads == 2);
  CHECK(loaded.target.seed == 7);
  CHECK(loaded.target.weights == wrote.report.target.weights);
  CHECK(loaded.target.allow_fast_math);
  CHECK(loaded.target.max_isa.empty());
  CHECK(loaded.speedup == 1.25);
  CHECK(loaded.made_with == wrote.report.made_with);

  const ProgramFile file = read_program(path);
  REQUIRE(file.package);
  CHECK(file.bytes == wrote.program_bytes);
}

TEST_CASE("a package remembers the instruction set it was limited to", "[tune]") {
  TempDir dir;
  const std::string path = (dir.path() / "m.hone").string();
  Package limited = a_package();
  limited.report.target.max_isa = limited.report.isa = "avx2";
  write_package(path, limited, false);
  CHECK(read_package(path).target.max_isa == "avx2");
  const TuneReport report = report_from_json(nlohmann::json::parse(read_file(path + "/report.json")), "report.json");
  CHECK(report.isa == "avx2");
  CHECK(report.target.max_isa == "avx2");
  CHECK_FALSE(to_json(a_package().report.target).contains("max_isa"));
}

TEST_CASE("a package replaces a package, and nothing else unless forced", "[tune]") {
  TempDir dir;
  const std::string path = (dir.path() / "m.hone").string();
  write_package(path, a_package(), false);
  Package second = a_package();
  second.tuned_hlo = "HloModule second\n";
  write_package(path, second, false);
  CHECK(read_file(path + "/tuned.hlo") == "HloModule second\n");

  const std::string file = (dir.path() / "notes.txt").string();
  std::ofstream(file) << "mine";
  CHECK_THROWS_AS(write_package(file, a_package(), false), Error);
  CHECK(read_file(file) == "mine");
  write_package(file, a_package(), true);
  CHECK(is_package(file));

  const fs::path folder = dir.path() / "folder";
  fs::create_directories(folder / "deep");
  CHECK_THROWS_AS(check_replaceable(folder.string(), true), Error);
  CHECK(fs::exists(folder / "deep"));
}

TEST_CASE("a package that cannot be written leaves nothing behind", "[tune]") {
  TempDir dir;
  std::ofstream(dir.path() / "file") << "x";
  CHECK_THROWS_AS(write_package((dir.path() / "file" / "m.hone").string(), a_package(), false), RunError);
  CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 1);
}

TEST_CASE("errors for damaged packages name the fault", "[tune]") {
  TempDir dir;
  const std::string path = (dir.path() / "m.hone").string();
  CHECK_THROWS_AS(read_package(path), Error);
  write_package(path, a_package(), false);
  fs::remove(fs::path(path) / "program.pb");
  CHECK_THROWS_WITH(read_package(path), Catch::Contains("program.pb"));
  write_package(path, a_package(), false);
  const auto put = [&](const std::string& text) { std::ofstream(path + "/decisions.json") << text; };
  put("{");
  CHECK_THROWS_WITH(read_package(path), Catch::Contains("not JSON"));
  put("{\"format\": 99}");
  CHECK_THROWS_WITH(read_package(path), Catch::Contains("format 99"));
  put("{\"format\": 1, \"program\": 3}");
  CHECK_THROWS_WITH(read_package(path), Catch::Contains("'program'"));
}

TEST_CASE("package names come from the program", "[tune]") {
  CHECK(package_path("", "m") == "m.hone");
  CHECK(package_path("out/x.hone/", "m") == "out/x.hone");
  CHECK(program_name("dir/module_0001.jit_f.before_optimizations.hlo.pb.gz") == "module_0001.jit_f");
  CHECK(program_name("a b.mlir") == "a_b");
  CHECK(program_name("-") == "program");
  CHECK(program_name("dump/") == "dump");
  CHECK(program_name(".txt") == "program");
}

TEST_CASE("dump folders: before optimizations, binary, largest; else the newest", "[tune]") {
  CHECK(pick_dump_file({{"m.before_optimizations.txt", 900, 1},
                        {"m.before_optimizations.hlo.pb", 100, 1},
                        {"n.before_optimizations.hlo.pb", 300, 0},
                        {"m.cpu_after_optimizations.txt", 5000, 9}}) == "n.before_optimizations.hlo.pb");
  CHECK(pick_dump_file({{"a.hlo.pb", 9, 1}, {"b.hlo.pb", 1, 2}}) == "b.hlo.pb");
  CHECK(pick_dump_file({{"m.before_optimizations.txt.gz", 9, 1}}) == "m.before_optimizations.txt.gz");
  CHECK(pick_dump_file({{"m.before_optimizations-buffer.log", 9, 1}, {"notes.txt", 9, 1}}).empty());

  TempDir dir;
  CHECK_THROWS_WITH(read_program(dir.path().string()), Catch::Contains("no program"));
  std::ofstream(dir.path() / "m.before_optimizations.txt") << "HloModule m";
  const ProgramFile file = read_program(dir.path().string());
  CHECK(file.bytes == "HloModule m");
  CHECK(file.name == "m");
}

}  // namespace hone::report
