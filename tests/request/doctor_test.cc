#include "request/doctor.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "data/database.h"
#include "tune/kernel/calibration.h"

namespace hone::request {

namespace {

namespace fs = std::filesystem;

tune::Measurement duel(double low, double ratio, double high) {
  return {.outcome = tune::Outcome::Ok, .ratio = ratio, .ratio_low = low, .ratio_high = high, .rounds = 40};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a duel of a program with itself shows whether times are reliable", "[request]") {
  const Check steady = timing_check(duel(0.998, 1.001, 1.002));
  CHECK(steady.status == CheckStatus::Ok);
  CHECK(steady.hint.empty());
  CHECK(contains(steady.detail, "1.0010 [0.9980, 1.0020], a spread of 0.20 %"));
  CHECK(timing_check(duel(0.97, 1.0, 1.03)).status == CheckStatus::Warning);      // contains 1, but is wide
  CHECK(timing_check(duel(1.001, 1.002, 1.003)).status == CheckStatus::Warning);  // within the precision of a duel
  // Of the time, too: ratios are right where others slow the core down, and run times are not.
  CHECK(timing_check(duel(0.998, 1.001, 1.002), 0.1).status == CheckStatus::Ok);
  const Check disturbed = timing_check(duel(0.998, 1.001, 1.002), 0.37);
  CHECK(disturbed.status == CheckStatus::Warning);
  CHECK(contains(disturbed.detail, "37 %"));
  CHECK(contains(disturbed.hint, "another virtual machine"));
  const Check biased = timing_check(duel(1.02, 1.03, 1.04));
  CHECK(biased.status == CheckStatus::Failed);
  CHECK_FALSE(biased.hint.empty());
  CHECK(timing_check(duel(0.96, 0.97, 0.98)).status == CheckStatus::Failed);
  tune::Measurement crashed;
  crashed.outcome = tune::Outcome::Crashed;
  crashed.note = "signal 4";
  const Check none = timing_check(crashed);
  CHECK(none.status == CheckStatus::Failed);
  CHECK(contains(none.detail, "signal 4"));
}

TEST_CASE("one core and little memory are warnings with a hint", "[request]") {
  Machine machine{.cpu = "A CPU", .logical_cores = 4, .physical_cores = 2, .usable_cores = 4};
  machine.memory_bytes = machine.available_bytes = int64_t{16} << 30;
  CHECK(cores_check(machine).status == CheckStatus::Ok);
  CHECK(contains(cores_check(machine).detail, "2 physical, 4 logical, 4 of them usable"));
  CHECK(memory_check(machine).status == CheckStatus::Ok);
  machine.usable_cores = 1;
  machine.available_bytes = int64_t{1} << 30;
  for (const Check& check : {cores_check(machine), memory_check(machine)}) {
    CHECK(check.status == CheckStatus::Warning);
    CHECK_FALSE(check.hint.empty());
  }
}

TEST_CASE("a narrow instruction set is a warning with a hint", "[request]") {
  CHECK(instruction_set_check("avx512").detail == "avx512, vectors of 512 bits");
  for (const char* isa : {"avx512", "avx2"}) CHECK(instruction_set_check(isa).status == CheckStatus::Ok);
  for (const char* isa : {"avx", "sse4.2", "sse2", "unknown"}) {
    const Check check = instruction_set_check(isa);
    CHECK(check.status == CheckStatus::Warning);
    CHECK_FALSE(check.hint.empty());
  }
}

TEST_CASE("the speed of a core names the levels that were measured", "[request]") {
  const Check check = speed_check({.read_l1 = 200, .read_memory = 20, .flops = 110});
  CHECK(check.status == CheckStatus::Ok);
  CHECK(check.detail == "110 GFLOP/s; reads, GB/s: 200 from first-level cache, 20 from memory");
}

TEST_CASE("gains that are not known on a class of machines are a warning", "[request]") {
  const TempDir folder;
  tune::Calibration gains;
  gains.model = "abc";
  gains.machine = "AMD avx2, one thread";
  gains.kernels = 80;
  gains.programs = 4;
  write_file((folder.path() / "tile-gains.json").string(), nlohmann::json{{"classes", {gains.to_json()}}}.dump());
  const Check known = gains_check(folder.path().string(), "AMD avx2, one thread");
  CHECK(known.status == CheckStatus::Ok);
  CHECK(contains(known.detail, "80 kernels of 4 programs"));
  const Check unknown = gains_check(folder.path().string(), "Intel avx2, one thread");
  CHECK(unknown.status == CheckStatus::Warning);
  CHECK(contains(unknown.detail, "Intel avx2, one thread"));
  write_file((folder.path() / "tile-gains.json").string(), "no calibration");
  CHECK(gains_check(folder.path().string(), "AMD avx2, one thread").status == CheckStatus::Failed);
}

TEST_CASE("models that cannot be read are named", "[request]") {
  const TempDir folder;
  fs::create_directories(folder.path() / "layout");
  write_file((folder.path() / "layout" / "ranker.safetensors").string(), "these are no weights");
  write_file((folder.path() / "tile-gains.json").string(), "nor is this a calibration");
  const Check check = models_check(folder.path().string());
  CHECK(check.status == CheckStatus::Failed);
  CHECK(contains(check.detail, "ranker.safetensors"));
  CHECK(contains(check.detail, "tile-gains.json"));
  CHECK_FALSE(check.hint.empty());
}

TEST_CASE("checking a database does not change it", "[request]") {
  const TempDir folder;
  const auto at = [&](const char* name) { return (folder.path() / name).string(); };
  const Check absent = database_check(at("below/new.db"));
  CHECK(absent.status == CheckStatus::Ok);
  CHECK(contains(absent.detail, "does not exist yet"));
  CHECK(fs::is_empty(folder.path()));

  Database::open(at("there.db"));
  CHECK(database_check(at("there.db")).status == CheckStatus::Ok);

  write_file(at("text.db"), std::string(2000, 'x'));
  const Check text = database_check(at("text.db"));
  CHECK(text.status == CheckStatus::Failed);
  CHECK(contains(text.detail, "text.db"));
  CHECK_FALSE(text.hint.empty());
  CHECK(database_check(at("text.db") + "/new.db").status == CheckStatus::Failed);  // below a file
  CHECK(database_check(folder.path().string()).status == CheckStatus::Failed);
}

TEST_CASE("what lies beside XLA's wheel is found by its versions", "[request]") {
  const TempDir folder;
  const fs::path site = folder.path() / "lib" / "python3" / "site-packages";
  fs::create_directories(site / "tensorflow_cpu-1.2.3.dist-info");
  CHECK(contains(wheel_check(site.string()).detail, "tensorflow-cpu 1.2.3"));
  CHECK(jax_check(site.string()).status == CheckStatus::Warning);
  CHECK(onednn_check(site.string()).status == CheckStatus::Warning);
  fs::create_directories(site / "jax-0.9.dist-info");
  fs::create_directories(site / "jaxlib-0.8.dist-info");
  CHECK(contains(jax_check(site.string()).detail, "jax 0.9 and jaxlib 0.8"));
  for (const fs::path& beside : {folder.path() / "lib", site / "hone" / "lib"}) {
    fs::create_directories(beside);
    write_file((beside / "libdnnl.so.3").string(), "");
    CHECK(onednn_check(site.string()).status == CheckStatus::Ok);
    fs::remove(beside / "libdnnl.so.3");
  }
  for (const auto check : {wheel_check, onednn_check, jax_check}) {
    CHECK(check("").status == CheckStatus::Warning);
    CHECK_FALSE(check("").hint.empty());
  }
}

TEST_CASE("the cache is checked without making it", "[request]") {
  const TempDir folder;
  const std::string path = (folder.path() / "below" / "objects").string();
  CHECK(contains(cache_check(path).detail, "does not exist yet"));
  CHECK(fs::is_empty(folder.path()));
  fs::create_directories(path);
  write_file(path + "/one", std::string(2048, 'x'));
  CHECK(contains(cache_check(path).detail, "2.00 KiB"));
  CHECK(cache_check(path + "/one/below").status == CheckStatus::Warning);  // below a file
  CHECK(cache_check("").status == CheckStatus::Warning);
}

TEST_CASE("one failed check fails the diagnosis", "[request]") {
  Diagnosis diagnosis;
  CHECK_FALSE(diagnosis.failed());
  diagnosis.checks = {{.name = "a"}, {.name = "b", .status = CheckStatus::Warning}};
  CHECK_FALSE(diagnosis.failed());
  diagnosis.checks.push_back({.name = "c", .status = CheckStatus::Failed});
  CHECK(diagnosis.failed());
  CHECK(std::string(check_status_name(CheckStatus::Warning)) == "warning");
}

TEST_CASE("without a worker the other checks are made", "[request]") {
  const TempDir folder;
  DoctorRequest request{.database = (folder.path() / "new.db").string()};
  request.worker.program = (folder.path() / "no-worker").string();
  const Diagnosis diagnosis = diagnose(request);
  CHECK(diagnosis.failed());
  CHECK(diagnosis.xla_version.empty());
  CHECK_FALSE(diagnosis.duel);
  std::vector<std::string> names;
  for (const Check& check : diagnosis.checks) {
    names.push_back(check.name);
    if (check.name == "worker") {
      CHECK(check.status == CheckStatus::Failed);
      CHECK_FALSE(check.hint.empty());
    }
  }
  CHECK(names == std::vector<std::string>{"cores", "memory", "instruction set", "speed of a core", "worker", "sandbox",
                                          "learning library", "models", "known gains", "own kernels", "database",
                                          "cache"});
}

}  // namespace hone::request
