#include "report/report.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "base/error.h"
#include "tests/tune/fake_measurer.h"

namespace hone::report {

namespace {

TuneReport a_report() {
  TuneReport r;
  r.program = "block";
  r.fingerprint = "f00";
  r.host = "a CPU, 2 cores";
  r.target.weights = {1};
  r.default_ns = 2e6;
  r.tuned_ns = 1.6e6;
  r.speedup = 1.25;
  r.speedup_low = 1.24;
  r.speedup_high = 1.26;
  r.verified = true;
  r.counters = {120, 3, 4};
  r.decisions = {{DecisionKind::Codegen, "k1", "tile=8,8"}, {DecisionKind::Weights, "1", "transposed"}};
  for (int i = 0; i < 20; ++i) {
    tune::KernelReport k;
    k.name = "a_fusion_with_a_rather_long_name." + std::to_string(i);
    k.kind = "fusion";
    k.share = 0.01 * i;
    k.default_value = "tile=1,16";
    k.chosen = i == 19 ? "tile=8,8" : "tile=1,16";
    k.kept = i == 19;
    k.gain = i == 19 ? 1.5 : 1;
    k.count = 2;
    r.kernels.push_back(k);
  }
  return r;
}

}  // namespace

TEST_CASE("the summary has the documented fields", "[tune]") {
  const auto j = summary_json(a_report());
  for (const char* field : {"program", "fingerprint", "default_ns", "tuned_ns", "speedup", "speedup_interval",
                            "verified", "candidates", "rejected", "failed", "seconds", "seed", "decisions", "output"})
    CHECK(j.contains(field));
  CHECK(j["speedup_interval"] == nlohmann::json({1.24, 1.26}));
  CHECK(j["decisions"]["codegen"]["k1"] == "tile=8,8");
  CHECK(j["decisions"]["weights"]["1"] == "transposed");
  CHECK(j["candidates"] == 120);
  CHECK(j["rejected"] == 3);
  CHECK(j["failed"] == 4);
  CHECK(j["output"].is_null());
}

TEST_CASE("numbers that are not finite become null", "[tune]") {
  TuneReport r = a_report();
  r.max_error = std::numeric_limits<double>::infinity();
  r.steps = {{"x", tune::failed(tune::Outcome::Mismatch), false}};
  r.steps[0].measurement.max_error = std::numeric_limits<double>::quiet_NaN();
  const auto j = nlohmann::json::parse(full_json(r).dump());
  CHECK(j["max_error"].is_null());
  CHECK(j["steps"][0]["max_error"].is_null());
  CHECK(j["steps"][0]["outcome"] == "mismatch");
  CHECK(j["kernels"].size() == 20);
}

TEST_CASE("the table fits a terminal and has the main results", "[tune]") {
  const std::string text = report_text(a_report());
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 100);
  CHECK_THAT(text, Catch::Contains("1.250x") && Catch::Contains("[1.240, 1.260]"));
  CHECK_THAT(text, Catch::Contains("120 candidates, 3 rejected, 4 failed"));
  CHECK_THAT(text, Catch::Contains("and 5 more"));
  CHECK_THAT(text, Catch::Contains("weights 1 transposed"));
  CHECK_THAT(text, Catch::Contains("verified"));

  TuneReport nothing;
  nothing.program = "p";
  CHECK_THAT(report_text(nothing), Catch::Contains("default XLA is the best found") && Catch::Contains("NOT verified"));
}

TEST_CASE("decisions stand under the words of their kind, a dozen of all, kernels only counted", "[tune]") {
  TuneReport r = a_report();
  r.decisions = {{DecisionKind::Codegen, "k1", "tile=8,8"}, {DecisionKind::Codegen, "k2", "loop"}};
  for (int i = 10; i < 25; ++i) r.decisions.push_back({DecisionKind::Weights, std::to_string(i), "transposed"});
  r.decisions.push_back({DecisionKind::Option, "vector_width", "512"});
  const std::string text = report_text(r);
  const auto heading = [](DecisionKind kind, int count) {
    return "\n    " + std::string(decision_traits(kind).words) + ": " + std::to_string(count) + "\n";
  };
  CHECK_THAT(text, Catch::Contains(heading(DecisionKind::Codegen, 2)) && !Catch::Contains("codegen k1"));
  CHECK_THAT(text, Catch::Contains(heading(DecisionKind::Weights, 15) + "      weights 10 transposed\n"));
  CHECK_THAT(text, Catch::Contains("weights 21 transposed\n      and 3 more\n") && !Catch::Contains("weights 22"));
  CHECK_THAT(text, Catch::Contains(heading(DecisionKind::Option, 1) + "      and 1 more\n"));
  CHECK_THAT(text, !Catch::Contains(decision_traits(DecisionKind::Layout).words));
}

TEST_CASE("decision lists read back, and bad ones are refused", "[tune]") {
  const Decisions decisions = a_report().decisions;
  CHECK(decisions_from_list(decisions_list(decisions), "x") == decisions);
  CHECK(decisions_list({}).dump() == "[]");
  CHECK_THROWS_AS(decisions_from_list(nlohmann::json::object(), "x"), Error);
  CHECK_THROWS_AS(decisions_from_list({{{"kind", "kernel"}, {"key", "k"}}}, "x"), Error);
  CHECK_THROWS_AS(decisions_from_list({{{"kind", "spell"}, {"key", "k"}, {"value", "v"}}}, "x"), Error);
}

TEST_CASE("index lists print as ranges", "[tune]") {
  CHECK(tune::index_list_text({}) == "");
  CHECK(tune::index_list_text({0, 3, 4, 5, 9}) == "0,3-5,9");
  CHECK(tune::index_list_text({1, 2}) == "1,2");
}

TEST_CASE("outcome names read back", "[tune]") {
  for (int i = 0; i < 7; ++i) {
    const auto outcome = static_cast<tune::Outcome>(i);
    CHECK(tune::outcome_from_name(tune::outcome_name(outcome)) == outcome);
  }
  CHECK_THROWS_AS(tune::outcome_from_name("fine"), Error);
}

}  // namespace hone::report
