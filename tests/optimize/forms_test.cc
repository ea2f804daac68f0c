#include "optimize/forms.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "graph/decision_family.h"
#include "optimize/calibrate.h"

namespace hone::optimize {

namespace {

const std::string kRows = "reduce:add:f32[8,4]->f32[8]:1", kAll = "reduce:add:f32[8]->f32[]:0";

Lowered two_reductions() {
  Lowered program;
  program.instructions = 100;
  program.dimensions = {
      {DecisionKind::Library, kRows, {kCompiledReduction, "ynn"}, 0},
      {DecisionKind::Library, kAll, {kCompiledReduction, "ynn"}, 0},
      {DecisionKind::Rewrite, "dot:f32[8,4]*f32[4,8]->f32[8,8]:lhs_contracting_dims={1}", {"default", "onednn"}, 0},
      {DecisionKind::Rewrite, "sine:sine:f32[8]", {"default", "polynomial"}, 0}};
  return program;
}

tune::Calibration gains_of(const std::string& transition, double from) {
  tune::Calibration gains;
  tune::AcceptanceThreshold& t = gains.by_transition[transition];
  t.from = from;
  t.gain = 0.3;
  t.low = 0.05;
  return gains;
}

// ns by the text of the decisions; 100 for all else.
PredictProgram table(std::map<std::string, double> ns, int* asked = nullptr) {
  return [ns = std::move(ns), asked](const Decisions& decisions) -> std::optional<PredictedRun> {
    if (asked) ++*asked;
    const auto known = ns.find(to_text(decisions));
    const double answer = known == ns.end() ? 100 : known->second;
    return answer > 0 ? std::optional(PredictedRun{answer}) : std::nullopt;
  };
}

Decision ynn(const std::string& key) { return {DecisionKind::Library, key, "ynn"}; }

}  // namespace

TEST_CASE("a form is chosen where its predicted margin is known to pay", "[tune]") {
  const auto predict =
      table({{to_text({ynn(kRows)}), 60}, {to_text({ynn(kAll)}), 98}, {to_text({ynn(kRows), ynn(kAll)}), 62}});
  const std::vector<ChosenForm> chosen = choose_forms(two_reductions(), gains_of("reduction ynn", 0.2), predict);
  REQUIRE(chosen.size() == 1);
  CHECK(chosen[0].decisions == Decisions{ynn(kRows)});
  CHECK(chosen[0].margin == Approx(std::log(100.0 / 60)));
  CHECK(chosen[0].transition == "reduction ynn");
  // A larger margin is asked for.
  CHECK(choose_forms(two_reductions(), gains_of("reduction ynn", 0.6), predict).empty());
}

TEST_CASE("a second form must pay beside the first", "[tune]") {
  const auto predict =
      table({{to_text({ynn(kRows)}), 50}, {to_text({ynn(kAll)}), 70}, {to_text({ynn(kRows), ynn(kAll)}), 49}});
  const tune::Calibration gains = gains_of("reduction ynn", 0.2);
  // Both together are the best single candidate, by a hair: operations are not decided twice.
  std::vector<ChosenForm> chosen = choose_forms(two_reductions(), gains, predict);
  REQUIRE(chosen.size() == 1);
  CHECK(chosen[0].decisions.size() == 2);
  const auto apart =
      table({{to_text({ynn(kRows)}), 50}, {to_text({ynn(kAll)}), 70}, {to_text({ynn(kRows), ynn(kAll)}), 51}});
  chosen = choose_forms(two_reductions(), gains, apart);
  REQUIRE(chosen.size() == 1);
  CHECK(chosen[0].decisions == Decisions{ynn(kRows)});
}

TEST_CASE("what cannot be predicted is left alone", "[tune]") {
  const tune::Calibration gains = gains_of("reduction ynn", 0.2);
  CHECK(choose_forms(two_reductions(), gains, table({{"", -1}})).empty());
  CHECK(choose_forms(two_reductions(), gains, table({{to_text({ynn(kRows)}), -1}})).empty());
}

TEST_CASE("forms of other kinds are judged by themselves", "[tune]") {
  const Decision polynomial{DecisionKind::Rewrite, "sine:sine:f32[8]", "polynomial"};
  tune::Calibration gains = gains_of("reduction ynn", 0.2);
  gains.by_transition.merge(gains_of("sine or cosine polynomial", 0.2).by_transition);
  int asked = 0;
  const auto predict = table({{to_text({ynn(kRows)}), 50}, {to_text({polynomial}), 70}}, &asked);
  const std::vector<ChosenForm> chosen = choose_forms(two_reductions(), gains, predict);
  REQUIRE(chosen.size() == 2);
  CHECK(chosen[1].decisions == Decisions{polynomial});
  CHECK(chosen[1].margin == Approx(std::log(100.0 / 70)));
  CHECK(asked == 1 + 4);  // default XLA, both reductions, each of them, the sine; nothing again
}

TEST_CASE("forms without known gains cost no prediction", "[tune]") {
  int asked = 0;
  CHECK(choose_forms(two_reductions(), {}, table({}, &asked)).empty());
  CHECK(asked == 0);
  // Dots have a model of their own.
  choose_forms(two_reductions(), gains_of("dot onednn", 0), table({}, &asked));
  CHECK(asked == 0);
  choose_forms(two_reductions(), gains_of("sine or cosine polynomial", 0), table({}, &asked));
  CHECK(asked == 2);
  CHECK(most_forms(10) == 24);
  CHECK(most_forms(1000) == 6);
  CHECK(most_forms(7000) == 4);
}

TEST_CASE("a library of the whole program is judged by the dots that read from memory", "[tune]") {
  const Decisions eigen{{DecisionKind::Library, "program", "eigen"}};
  CHECK(form_margin(eigen, {.ns = 100, .cold_dots = 0.4}, {.ns = 10}) == 0.4);
  CHECK(form_margin({ynn(kRows)}, {.ns = 100, .cold_dots = 0.4}, {.ns = 50}) == Approx(std::log(2.0)));
  // Beside another form that is taken first, too, whose program says nothing of what comes from memory.
  Lowered program = two_reductions();
  program.dimensions.push_back({DecisionKind::Library, "program", {"default", "eigen"}, 0});
  tune::Calibration gains = gains_of("reduction ynn", 0.2);
  gains.by_transition.merge(gains_of("library of the whole program eigen", 0.3).by_transition);
  const PredictProgram predict = [](const Decisions& decisions) -> std::optional<PredictedRun> {
    const bool changed =
        std::any_of(decisions.begin(), decisions.end(), [](const Decision& d) { return d.key == kRows; });
    return PredictedRun{.ns = changed ? 50.0 : 100.0, .cold_dots = decisions.empty() ? 0.4 : 0};
  };
  const std::vector<ChosenForm> chosen = choose_forms(program, gains, predict);
  REQUIRE(chosen.size() == 2);
  CHECK(chosen[0].margin == Approx(std::log(2.0)));
  CHECK(chosen[1].decisions == eigen);
  CHECK(chosen[1].margin == 0.4);
}

TEST_CASE("gains of forms are calibrated by transition and class of machine", "[tune]") {
  const TempDir folder;
  const std::string rows = folder.path() / "rows.jsonl", weights = folder.path() / "weights";
  std::string text;
  for (int i = 0; i < 40; ++i) {
    const std::string program = "p" + std::to_string(i % 8);
    text += R"({"program": ")" + program + R"(", "machine": "a", "transition": "reduction ynn", "margin": )" +
            std::to_string(0.01 * i) + R"(, "ratio": )" + (i < 15 ? "0.9" : "1.2") + "}\n";
    text += R"({"program": ")" + program +
            R"(", "machine": "b", "transition": "reduction ynn", "margin": 0.3, "ratio": 0.8})"
            "\n";
  }
  write_file(rows, text);
  write_file(weights, "weights");
  const std::vector<tune::Calibration> gains = calibrate_forms(rows, weights);
  REQUIRE(gains.size() == 2);
  CHECK(gains[0].machine == "a");
  CHECK(gains[0].programs == 8);
  CHECK(gains[0].kernels == 40);
  CHECK(gains[0].model == tune::weights_fingerprint(weights));
  CHECK(gains[0].of("reduction ynn").accepts(0.2));
  CHECK_FALSE(gains[0].of("reduction ynn").accepts(0.05));
  CHECK_FALSE(gains[1].of("reduction ynn").accepts(10));
  write_file(rows, "{\"program\": \"p\"}\n");
  try {
    calibrate_forms(rows, weights);
    FAIL("a row without a ratio was taken");
  } catch (const Error& e) {
    CHECK_THAT(e.where(), Catch::EndsWith("rows.jsonl, line 1"));
  }
  CHECK_THROWS_AS(calibrate_forms(folder.path() / "none", weights), Error);
}

TEST_CASE("gains of forms that come with the models hold for similar machines and for their trees", "[tune]") {
  const TempDir folder;
  const std::string models = folder.path().string(), weights = models + "/fusion",
                    gains_file = models + "/form-gains.json";
  std::filesystem::create_directory(weights);
  write_file(weights + "/seed-0.safetensors", "no weights");
  tune::Calibration gains = gains_of("reduction ynn", 0.2);
  gains.machine = "AMD avx512, one thread";
  gains.model = tune::weights_fingerprint(weights);
  write_file(gains_file, gains.to_json().dump());
  for (const char* machine : {"Intel avx512, several threads", "AMD avx2, one thread"})
    CHECK_THROWS_AS(shipped_forms_model(models, machine, {}), Error);  // which opens the weights
  gains.model = "of other trees";
  write_file(gains_file, gains.to_json().dump());
  CHECK(shipped_forms_model(models, "Intel avx512, several threads", {}).run_times == nullptr);
  CHECK(shipped_forms_model(models, "Intel avx512, several threads", {}).gains.by_transition.empty());
}

}  // namespace hone::optimize
