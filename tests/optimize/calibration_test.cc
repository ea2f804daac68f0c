#include "tune/kernel/calibration.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/rng.h"
#include "tests/optimize/known_gains.h"

namespace hone::optimize {

namespace {

std::vector<tune::RankedGain> noisy_gains(int count, double from_margin) {
  Rng rng(7);
  std::vector<tune::RankedGain> kernels;
  for (int i = 0; i < count; ++i) {
    const double margin = 3.0 * i / count;
    kernels.push_back({"program " + std::to_string(i % 7), margin,
                       (margin >= from_margin ? 0.3 : 0.0) + 0.1 * (rng.uniform() - 0.5)});
  }
  return kernels;
}

}  // namespace

TEST_CASE("predicted margins are over the default, the best of each transition", "[tune]") {
  const auto margins =
      tune::predicted_margins("fusion", {3, 2.5, 1, 4, 2}, {false, false, true, true, false}, 0, false);
  REQUIRE(margins.size() == 2);
  CHECK(margins.at("loop to loop").option == 4);
  CHECK(margins.at("loop to loop").margin == Approx(1));
  CHECK(margins.at("loop to tiled").option == 2);
  CHECK(tune::predicted_margins("fusion", {1, 2}, {true, false}, 0, false).at("tiled to loop").margin == Approx(-1));
  CHECK(tune::predicted_margins("dot", {200, 100}, {false, false}, 0, true).at("dot").margin == Approx(std::log(2)));
  CHECK_THROWS_AS(tune::predicted_margins("dot", {1}, {false}, 1, false), InternalError);
}

TEST_CASE("the threshold stands where margins begin to pay", "[tune]") {
  const tune::AcceptanceThreshold threshold = tune::acceptance_threshold(noisy_gains(600, 1.5));
  CHECK(threshold.from < 1.5);  // the one in ten that may lose includes a few that gain nothing
  CHECK(threshold.from > 1);
  CHECK(threshold.gain > 0.2);
  CHECK(threshold.low > 0);
  CHECK(threshold.seen == 600);
  CHECK(threshold.accepts(2));
  CHECK_FALSE(threshold.accepts(1));
}

TEST_CASE("a random ranking never leads to a choice", "[tune]") {
  const tune::AcceptanceThreshold threshold = tune::acceptance_threshold(noisy_gains(300, 10));
  CHECK(threshold.kernels == 0);
  CHECK_FALSE(threshold.accepts(1e9));
}

TEST_CASE("a few kernels, or those of a few programs, set no threshold", "[tune]") {
  std::vector<tune::RankedGain> few = noisy_gains(tune::AcceptanceThreshold::kKernels - 1, 0);
  CHECK_FALSE(tune::acceptance_threshold(few).accepts(5));
  std::vector<tune::RankedGain> one_program = noisy_gains(100, 0);
  CHECK(tune::acceptance_threshold(one_program).accepts(2));
  for (tune::RankedGain& kernel : one_program) kernel.program = "p";
  CHECK_FALSE(tune::acceptance_threshold(one_program).accepts(2));
  CHECK_FALSE(tune::acceptance_threshold({}).accepts(5));
  CHECK_FALSE(tune::Calibration().of("dot").accepts(5));
}

TEST_CASE("kernels of equal margin are accepted or refused together", "[tune]") {
  std::vector<tune::RankedGain> kernels;
  for (int i = 0; i < 40; ++i) kernels.push_back({std::to_string(i), 1, i % 2 == 0 ? 0.5 : -0.5});
  CHECK_FALSE(tune::acceptance_threshold(kernels).accepts(1));
}

TEST_CASE("what mostly gains a little and sometimes loses much is never chosen", "[tune]") {
  const auto with_losses = [](double loss) {
    std::vector<tune::RankedGain> kernels;
    for (int i = 0; i < 40; ++i) kernels.push_back({std::to_string(i), i / 10.0, i % 14 == 13 ? -loss : 0.02});
    return tune::acceptance_threshold(kernels);
  };
  CHECK(with_losses(0.01).accepts(2));
  CHECK(with_losses(0.01).low == Approx(0.02));
  CHECK_FALSE(with_losses(1).accepts_any());
}

TEST_CASE("of several accepted transitions the surest is chosen", "[tune]") {
  tune::Calibration gains = gains_from_one();
  gains.by_transition["loop to loop"] = {.from = 0, .gain = 0.3, .low = 0.01, .kernels = 20, .programs = 9, .seen = 80};
  CHECK(gains.choice({{"loop to tiled", {1, 1.5}}, {"loop to loop", {2, 9}}}) == "loop to tiled");
  CHECK(gains.choice({{"loop to tiled", {1, 0.5}}, {"loop to loop", {2, 9}}}) == "loop to loop");
  CHECK_FALSE(gains.choice({{"loop to tiled", {1, 0.5}}, {"dot", {2, 9}}}).has_value());
}

TEST_CASE("a calibration survives a file", "[tune]") {
  const TempDir folder;
  const std::string path = (folder.path() / "gains.json").string();
  tune::Calibration gains = gains_from_one();
  gains.model = "abc";
  gains.kernels = 100;
  gains.programs = 3;
  write_file(path, gains.to_json().dump());
  const tune::Calibration back = tune::Calibration::load(path, "");
  CHECK(back.to_json() == gains.to_json());
  CHECK(back.of("loop to tiled").gain == Approx(std::log(1.2)));
  CHECK(back.of("loop to tiled").accepts(1.5));
  CHECK_FALSE(back.of("loop to loop").accepts(1e9));
  write_file(path, "{\"model\": 3}");
  CHECK_THROWS_AS(tune::Calibration::load(path, ""), Error);
  write_file(path, "nothing");
  CHECK_THROWS_AS(tune::Calibration::load(path, ""), Error);
}

TEST_CASE("weights are told apart by their content", "[tune]") {
  const TempDir folder;
  const auto put = [&](const char* name, const char* text) { write_file((folder.path() / name).string(), text); };
  put("a.safetensors", "one");
  const std::string one = tune::weights_fingerprint(folder.path().string());
  put("b.safetensors", "two");
  const std::string two = tune::weights_fingerprint(folder.path().string());
  CHECK(one != two);
  put("notes.txt", "not read");
  CHECK(tune::weights_fingerprint(folder.path().string()) == two);
}

TEST_CASE("gains hold for the class of machines that they were measured on", "[tune]") {
  const TempDir folder;
  const std::string path = (folder.path() / "gains.json").string();
  tune::Calibration first = gains_from_one(), second = gains_from_one();
  first.model = second.model = "abc";
  first.machine = "AMD avx512, one thread";
  first.kernels = second.kernels = 100;
  second.machine = "Intel avx2, one thread";
  second.by_transition["dot"] = first.by_transition["loop to tiled"];
  write_file(path, nlohmann::json{{"classes", {first.to_json(), second.to_json()}}}.dump());
  CHECK(tune::Calibration::load(path, first.machine).to_json() == first.to_json());
  CHECK(tune::Calibration::load(path, second.machine).to_json() == second.to_json());
  const tune::Calibration unknown = tune::Calibration::load(path, "AMD avx2, one thread");
  CHECK(unknown.model == "abc");
  CHECK(unknown.kernels == 0);
  CHECK_FALSE(unknown.choice({{"loop to tiled", {1, 9}}}));
  second.by_transition["loop to tiled"].seen = tune::AcceptanceThreshold::kKernels - 1;  // too few to say anything
  first.by_transition["convolution"] = first.by_transition["pooling"] = first.by_transition["loop to tiled"];
  second.by_transition["pooling"] = {.seen = 80};  // never
  first.machine = "AMD avx2 of avx512, one thread";
  write_file(path, nlohmann::json{{"classes", {first.to_json(), second.to_json()}}}.dump());
  const tune::Calibration similar = tune::Calibration::load(path, "AMD avx2, one thread", /*or_similar=*/true);
  CHECK(similar.machine == second.machine);
  CHECK(similar.of("dot").from == second.of("dot").from);
  CHECK(similar.of("loop to tiled").seen == first.of("loop to tiled").seen);
  CHECK(similar.of("convolution").from == first.of("convolution").from);
  CHECK_FALSE(similar.of("pooling").accepts_any());
  CHECK(similar.of_any_class("pooling").from == first.of("pooling").from);
  CHECK(similar.of_any_class("dot").from == second.of("dot").from);
  CHECK_FALSE(tune::Calibration::load(path, second.machine).of_any_class("pooling").accepts_any());
  CHECK(tune::Calibration::load(path, "Intel avx512, one thread", /*or_similar=*/true).machine == second.machine);
  write_file(path, first.to_json().dump());  // of one class: whoever names the file knows
  CHECK(tune::Calibration::load(path, "AMD avx2, one thread").to_json() == first.to_json());
  for (const char* wrong : {R"({"classes": []})", R"({"classes": {}})", R"({"classes": [3]})"}) {
    write_file(path, wrong);
    CHECK_THROWS_AS(tune::Calibration::load(path, ""), Error);
  }
}

}  // namespace hone::optimize
