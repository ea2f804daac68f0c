// Every kept input of every fuzz target: what once did harm does none.
#include <catch2/catch.hpp>
#include <filesystem>

#include "base/files.h"
#include "tests/fuzz/targets/target.h"

namespace hone::fuzz {
namespace {

struct Target {
  const char* name;
  void (*run)(Bytes input);
};
constexpr Target kTargets[] = {
#define TARGET(name, ...) {#name, name},
#include "tests/fuzz/targets/targets.def"
#undef TARGET
};

const std::filesystem::path kCorpus = HONE_SOURCE_DIR "/tests/fuzz/corpus";

}  // namespace

TEST_CASE("kept inputs of the fuzz targets do no harm", "[fuzz]") {
  for (const Target& target : kTargets) {
    for (const auto& entry : std::filesystem::directory_iterator(kCorpus / target.name)) {
      INFO(entry.path().string());
      const std::string input = read_file(entry.path().string());
      REQUIRE_NOTHROW(target.run({reinterpret_cast<const uint8_t*>(input.data()), input.size()}));
    }
  }
}

TEST_CASE("every folder of kept inputs is a fuzz target's", "[fuzz]") {
  for (const auto& entry : std::filesystem::directory_iterator(kCorpus)) {
    const std::string name = entry.path().filename().string();
    INFO(name);
    CHECK(std::any_of(std::begin(kTargets), std::end(kTargets), [&](const Target& t) { return name == t.name; }));
  }
}

}  // namespace hone::fuzz
