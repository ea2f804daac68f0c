// Sets of programs and claims on them: which folder holds the programs, and which numbers are believed.
#include "passorder/leaderboard.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/sha256.h"
#include "tests/passorder/session_options.h"

using namespace hone;
using namespace hone::passorder;
using nlohmann::json;

namespace {

constexpr char kProgram[] = R"(HloModule small
ENTRY main {
  x = f32[8] parameter(0)
  dead = f32[8] tanh(x)
  ROOT r = f32[8] add(x, x)
}
)";

// A set of one program of three instructions.
json set_of(json instructions) {
  return {{"format", "hone-benchmark-1"},
          {"name", "small-v1"},
          {"max_passes", 5},
          {"programs", json::array({{{"name", "small"},
                                     {"file", "small.hlo"},
                                     {"sha256", Sha256().add(kProgram).hex()},
                                     {"instructions", std::move(instructions)}}})}};
}

json result_of(json instructions) {
  return {{"format", "hone-gym-result-1"},
          {"agent", "me"},
          {"benchmark", "small-v1"},
          {"entries",
           json::array(
               {{{"program", "small"}, {"passes", json::array({"dce"})}, {"instructions", std::move(instructions)}}})}};
}

struct Folder {
  TempDir dir;
  Folder() { write_file(path("small.hlo"), kProgram); }
  std::string path(const std::string& name) const { return (dir.path() / name).string(); }
  std::string write(const std::string& name, const json& content) const {
    write_file(path(name), content.dump());
    return path(name);
  }
};

}  // namespace

TEST_CASE("the given folder is that of sets without their own") {
  const Folder folder;
  json set = set_of(3);
  const std::string without = folder.write("without.json", set);
  set["root"] = "own";
  const std::string with = folder.write("with.json", set);
  CHECK(read_benchmark(without, "/elsewhere").programs[0].file == "/elsewhere/small.hlo");
  CHECK(read_benchmark(with, "/elsewhere").programs[0].file == folder.path("own/small.hlo"));
  CHECK(read_benchmark(with, "").programs[0].file == folder.path("own/small.hlo"));
  CHECK_THROWS_AS(read_benchmark(without, ""), Error);
}

TEST_CASE("numbers of instructions are whole") {
  const Folder folder;
  for (const json& number : {json(2.5), json(true), json("2")}) {
    INFO(number.dump());
    CHECK_THROWS_AS(read_benchmark(folder.write("set.json", set_of(number)), "/elsewhere"), Error);
    CHECK_THROWS_AS(read_gym_result(folder.write("result.json", result_of(number))), Error);
  }
  CHECK(read_gym_result(folder.write("result.json", result_of(2))).claims[0].instructions == 2);
}

TEST_CASE("a set whose numbers are not those of its programs is refused", "[rl][passes]") {
  const Folder folder;
  const GymResult result = read_gym_result(folder.write("result.json", result_of(2)));
  const std::string root = folder.dir.path().string();
  PassSession session(session_options());
  const BenchmarkSet right = read_benchmark(folder.write("set.json", set_of(3)), root);
  const Standing standing = replay(result, right, session);
  CHECK(standing.right == 1);
  CHECK(standing.reduction == Approx(1.5));
  const BenchmarkSet wrong = read_benchmark(folder.write("set.json", set_of(300)), root);
  CHECK_THROWS_AS(replay(result, wrong, session), Error);
}
