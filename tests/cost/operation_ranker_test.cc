#include "cost/operation_ranker.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "graph/decision_family.h"
#include "tests/tune/operation_model.h"
#include "tune/session/decision_list.h"

namespace hone::cost {
namespace {

Kernel convolution(const Decisions& under = {}) {
  const Dimension d{
      DecisionKind::Rewrite, tune::kSmallConvolution, {"default", "winograd=4", "winograd=2", kOneDnn}, 0, 1e6};
  return tune::operation_alone(d, under);
}

}  // namespace

TEST_CASE("the model of operations predicts the gain of each form", "[cost]") {
  const TempDir folder;
  OperationRanker ranker(
      tune::write_operation_model(folder, {.of_four = 0.7, .of_other_tiles = 0.2, .of_others = -0.1}), 1, "");
  const auto four = ranker.gain(convolution(), "winograd=4");
  REQUIRE(four);
  CHECK(four->middle == Approx(0.7));
  CHECK(four->low == Approx(0.6));
  CHECK(four->high == Approx(0.8));
  CHECK(ranker.gain(convolution(), "winograd=2")->middle == Approx(0.2));
  CHECK_FALSE(ranker.gain(convolution(), "shifted"));
  const RankedScores ranked = ranker.rank(convolution(), convolution().dimension.options);
  CHECK(ranked.log_ratios);
  CHECK(ranked.scores[0] == 0);
  CHECK(ranked.scores[1] == Approx(-0.7));
  CHECK(ranked.scores[3] == Approx(0.1));
  CHECK(ranked.spreads[0] == 0);
  CHECK(ranked.spreads[1] == Approx(0.2 / 2.563));
}

TEST_CASE("a sure gain needs a calibration of the form and the machine", "[cost]") {
  const TempDir folder;
  const std::string path = tune::write_operation_model(folder, {.of_four = 0.7, .of_others = 0.7});
  const OperationRanker ranker(path, 1, "");
  CHECK(ranker.sure_gain(convolution(), "winograd=4").value() == Approx(0.59));
  CHECK_FALSE(ranker.sure_gain(convolution(), kOneDnn));                             // another family
  CHECK_FALSE(OperationRanker(path, 2, "").sure_gain(convolution(), "winograd=4"));  // another machine class
}

TEST_CASE("nothing is sure of operations that do less arithmetic than those of the calibration", "[cost]") {
  const TempDir folder;
  const std::string path = tune::write_operation_model(folder, {.of_four = 0.7});
  const double flops = operation_sizes(tune::kSmallConvolution)->flops();
  nlohmann::json model = nlohmann::json::parse(read_file(path));
  nlohmann::json& least = model["least_log_flops"][features::this_machine_class(1)]["convolution winograd"];
  least = std::log2(1 + flops) - 0.01;
  write_file(path, model.dump());
  CHECK(OperationRanker(path, 1, "").sure_gain(convolution(), "winograd=4"));
  least = std::log2(1 + flops) + 0.01;
  write_file(path, model.dump());
  CHECK_FALSE(OperationRanker(path, 1, "").sure_gain(convolution(), "winograd=4"));
}

TEST_CASE("families of forms that a machine's class does not know have the bounds of a similar one", "[cost]") {
  const TempDir folder;
  const std::string path = tune::write_operation_model(folder, {.of_four = 0.7, .of_others = 0.7});
  const std::string here = features::this_machine_class(1), other = features::this_machine_class(2);
  nlohmann::json model = nlohmann::json::parse(read_file(path));
  const double own = model["corrections"][here]["convolution winograd"];
  for (const char* table : {"corrections", "least_log_flops"}) model[table][other] = model[table][here];
  model["corrections"][other] = {{"convolution winograd", own - 0.3}, {"convolution onednn", -0.2}};
  model["least_log_flops"][other]["convolution onednn"] = 0;
  write_file(path, model.dump());
  const OperationRanker strict(path, 1, ""), similar(path, 1, "", /*or_similar=*/true);
  CHECK(similar.sure_gain(convolution(), "winograd=4") == strict.sure_gain(convolution(), "winograd=4"));
  CHECK_FALSE(strict.sure_gain(convolution(), kOneDnn));
  CHECK(similar.sure_gain(convolution(), kOneDnn).value() == Approx(0.6 - 0.2));
}

TEST_CASE("families of operations may have trees of their own", "[cost]") {
  const TempDir folder;
  const std::string path = tune::write_operation_model(folder, {.of_others = 0.1});
  nlohmann::json model = nlohmann::json::parse(read_file(path));
  nlohmann::json grouped = model["groups"][0];
  grouped["families"] = {"grouped-convolution"};
  for (const char* quantile : {"low", "middle", "high"}) grouped[quantile]["base"] = 2;
  model["groups"] = {grouped, model["groups"][0]};
  write_file(path, model.dump());
  const OperationRanker ranker(path, 1, "");
  const Dimension d{DecisionKind::Rewrite, tune::kGroupedConvolution, {"default", kOneDnn}, 0, 1e6};
  CHECK(ranker.gain(tune::operation_alone(d, {}), kOneDnn)->middle == Approx(2.1));
  CHECK(ranker.gain(convolution(), kOneDnn)->middle == Approx(0.1));
}

TEST_CASE("what shares a correction is told by the operation and the form", "[cost]") {
  CHECK(corrected_family(tune::kSmallConvolution, "winograd=4;strips=2") == "convolution winograd");
  CHECK(corrected_family(tune::kGroupedConvolution, kOneDnn) == "grouped-convolution onednn");
  CHECK(corrected_family("sort:f32[8]", "highway").empty());
}

TEST_CASE("the shipped model has the features of the program", "[cost]") {
  CHECK_NOTHROW(OperationRanker(HONE_SOURCE_DIR "/data/models/operations.json", 1, ""));
}

TEST_CASE("a file that is no model of operations is refused", "[cost]") {
  const TempDir folder;
  const std::string path = (folder.path() / "model.json").string();
  for (const char* text :
       {"", "[]", "{}", R"({"features": ["one"], "groups": [], "corrections": {}, "least_log_flops": {}})"}) {
    write_file(path, text);
    CHECK_THROWS_AS(OperationRanker(path, 1, ""), Error);
  }
}

TEST_CASE("a model of operations is opened by name", "[cost]") {
  const TempDir folder;
  const std::string path = tune::write_operation_model(folder, {.of_four = 0.7});
  CHECK(OperationRanker::open("none", 1, "", folder.path().string()) == nullptr);
  REQUIRE(OperationRanker::open("shipped", 1, "", folder.path().string()) != nullptr);
  CHECK(OperationRanker::open("shipped", 1, "", folder.path().string())->gain(convolution(), "winograd=4")->middle ==
        Approx(0.7));
  write_file(path, "{}");
  CHECK(OperationRanker::open("shipped", 1, "", folder.path().string()) == nullptr);
  CHECK_THROWS_AS(OperationRanker::open(path, 1, "", ""), Error);
}

}  // namespace hone::cost
