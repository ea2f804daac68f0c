#include "report/html_report.h"

#include <catch2/catch.hpp>
#include <protozero/pbf_reader.hpp>

#include "base/error.h"
#include "report/perfetto_trace.h"
#include "tests/tune/fake_measurer.h"

namespace hone::report {

namespace {

using nlohmann::json;

tune::Trial a_trial(const std::string& scope, const std::string& what, double start_s, double end_s, double ratio) {
  tune::Trial t;
  t.scope = scope;
  t.what = what;
  t.start_s = start_s;
  t.end_s = end_s;
  t.ratio = ratio;
  t.ratio_low = ratio * 0.99;
  t.ratio_high = ratio * 1.01;
  t.candidate_ns = ratio > 0 ? 1e6 / ratio : 0;
  t.compile_ms = 120;
  t.rounds = 9;
  return t;
}

ReportInput an_input() {
  ReportInput input;
  TuneReport& r = input.report;
  r.program = "block";
  r.fingerprint = "f00";
  r.tuned_fingerprint = "ba5";
  r.host = "a CPU, 2 cores";
  r.xla_version = "2.21.0";
  r.target = {.threads = 2, .seed = 7, .weights = {0, 3}, .allow_fast_math = false};
  r.default_ns = 2e6;
  r.tuned_ns = 1.6e6;
  r.speedup = 1.25;
  r.speedup_low = 1.24;
  r.speedup_high = 1.26;
  r.rounds = 30;
  r.verified = true;
  r.counters = {5, 0, 1};
  r.seconds = 12.5;
  r.decisions = {{DecisionKind::Codegen, "k1", "tile=8,8"}};
  tune::KernelReport k;
  k.name = "transpose_add_fusion";
  k.kind = "fusion";
  k.key = k.fingerprint = "k1";
  k.default_value = "default";
  k.default_tile = "1,128";
  k.chosen = "tile=8,8";
  k.gain = 2.2;
  k.gain_low = 2.1;
  k.gain_high = 2.3;
  k.share = 0.4;
  k.options = 12;
  k.tried = 3;
  k.kept = true;
  k.top = {{"tile=8,8", tune::measured(2.2)}, {"loop", tune::measured(0.9)}};
  r.kernels = {k};
  r.steps = {{"1 tuned kernels", tune::measured(1.25), true}, {"confirmation", tune::measured(1.25), true}};
  tune::Trial tile = a_trial("kernel", "tile=16,16", 1, 2, 1.4), crash = a_trial("kernel", "tile=1,1", 2, 3, 0);
  tile.kernel = crash.kernel = "k1";
  crash.outcome = tune::Outcome::Crashed;
  tune::Trial step = a_trial("program", "kernel k1 tile=8,8", 3, 4, 1.25),
              second = a_trial("program", "weights", 4, 5, 0.9);
  second.against = 2;
  tune::Trial last = a_trial("program", "kernel k1 tile=8,8", 5, 7, 1.25);
  last.confirms = true;
  r.timeline = {tile, crash, step, second, last};
  input.hone_version = "hone 0.1.0";
  input.file = "block.mlir";
  return input;
}

const json* tile_of(const json& kernel, const std::vector<int64_t>& sizes) {
  for (const json& tile : kernel["tiles"])
    if (tile["tile"] == json(sizes)) return &tile;
  return nullptr;
}

}  // namespace

TEST_CASE("report.json reads back what was written", "[tune]") {
  TuneReport wrote = an_input().report;
  wrote.max_error = std::numeric_limits<double>::infinity();
  const TuneReport read = report_from_json(json::parse(full_json(wrote).dump()), "report.json");
  CHECK(read.target.weights == wrote.target.weights);
  CHECK(read.counters.failed == 1);
  CHECK(std::isinf(read.max_error));
  CHECK(read.kernels[0].default_tile == "1,128");
  CHECK(read.kernels[0].top[1].measurement.ratio == Approx(0.9));
  CHECK(read.timeline[1].outcome == tune::Outcome::Crashed);
  CHECK(read.timeline[3].against == 2);
  CHECK(read.timeline[4].confirms);
  TuneReport again = read;
  again.decisions = wrote.decisions;  // they come from decisions.json
  CHECK(full_json(again) == full_json(wrote));
}

TEST_CASE("a report of an older version reads, the error for a damaged one names the place", "[tune]") {
  json old = full_json(an_input().report);
  old.erase("timeline");
  for (json& kernel : old["kernels"]) kernel.erase("default_tile");
  CHECK(report_from_json(old, "x").timeline.empty());

  const auto damaged = [](const std::function<void(json&)>& damage) {
    json j = full_json(an_input().report);
    damage(j);
    return [j] { report_from_json(j, "report.json"); };
  };
  CHECK_THROWS_AS(damaged([](json& j) { j = json::array(); })(), Error);
  CHECK_THROWS_WITH(damaged([](json& j) { j.erase("speedup"); })(), Catch::Contains("'speedup'"));
  CHECK_THROWS_WITH(damaged([](json& j) { j["kernels"][0]["name"] = 3; })(), Catch::Contains("'name'"));
  CHECK_THROWS_WITH(damaged([](json& j) { j["kernels"] = "all"; })(), Catch::Contains("'kernels'"));
  CHECK_THROWS_AS(damaged([](json& j) { j["steps"][0]["outcome"] = "fine"; })(), Error);
  CHECK_THROWS_AS(damaged([](json& j) { j["timeline"][0]["start_s"] = "soon"; })(), Error);
  CHECK_THROWS_AS(damaged([](json& j) { j["timeline"][2]["against"] = 4; })(), Error);
  CHECK_THROWS_AS(damaged([](json& j) { j["speedup_interval"] = {1, 2, 3}; })(), Error);
  CHECK_THROWS_AS(damaged([](json& j) { j["target"] = 1; })(), Error);
}

TEST_CASE("the model holds what the page shows", "[tune]") {
  ReportInput input = an_input();
  Record row;
  row.decisions = "tile=32,4";
  row.status = "ok";
  row.ratio = 1.1;
  Record older = row;
  older.decisions = "tile=16,16";  // measured again by the package's own search
  older.ratio = 0.2;
  input.rows["k1"] = {row, older};
  const json m = page_model(input);
  CHECK(m["decisions"][0]["text"] == "Transposed add: tile 8×8 instead of 1×128");
  CHECK(m["decisions"][0]["gain"] == 2.2);
  const std::string words = decision_traits(DecisionKind::Codegen).words;
  REQUIRE(m["kinds"].size() == 1);
  CHECK(m["kinds"][0] == json{{"kind", "codegen"}, {"words", words}, {"count", 1}});
  const json& kernel = m["kernels"][0];
  CHECK(kernel["default_tile"] == json({1, 128}));
  CHECK(kernel["chosen_tile"] == json({8, 8}));
  CHECK(kernel["tiles"].size() == 4);
  REQUIRE(tile_of(kernel, {16, 16}));
  CHECK(tile_of(kernel, {16, 16})->at("ratio") == 1.4);
  CHECK(tile_of(kernel, {32, 4})->at("ratio") == 1.1);
  CHECK(tile_of(kernel, {1, 1})->at("outcome") == "crashed");
  CHECK(tile_of(kernel, {8, 8})->at("ratio") == 2.2);
  CHECK(kernel["others"][0]["words"] == "plain loops");

  const json& trials = m["search"]["trials"];
  REQUIRE(trials.size() == 5);
  CHECK(trials[2]["adopted"] == true);
  CHECK(trials[3]["gain"].get<double>() == Approx(1.125));
  CHECK(trials[4]["confirms"] == true);
  CHECK(m["search"]["kernels_s"] == 2.0);
  CHECK(m["search"]["programs_s"] == 4.0);
  CHECK(m["search"]["steps"].size() == 1);  // without the confirmation
  CHECK(m["predictions"].empty());
  CHECK_FALSE(m.contains("before"));
}

TEST_CASE("graphs are part of the model when both are there", "[tune]") {
  ReportInput input = an_input();
  DrawnGraph graph;
  graph.nodes = {
      {.name = "a", .opcode = "dot", .kernel = "k1", .shape = "f32[2]", .inside = {}, .inputs = {"x"}, .x = 1.4},
      {.name = "b", .opcode = "fusion", .kernel = "", .shape = "f32[2]", .inside = {{"add", 2}}, .inputs = {}}};
  graph.edges = {{0, 1, {{3.6, 4}}}};
  input.before = graph;
  CHECK_FALSE(page_model(input).contains("before"));
  input.after = graph;
  const json m = page_model(input);
  CHECK(m["before"]["nodes"][0]["x"] == 1);
  CHECK(m["after"]["nodes"][1]["inside"] == json::parse(R"([["add",2]])"));
  CHECK(m["after"]["edges"][0] == json({0, 1, 4, 4}));
}

TEST_CASE("the page is one file, and names cannot break out of it", "[tune]") {
  ReportInput input = an_input();
  input.report.program = "</script><script>alert(1)</script>@MODEL@";
  input.report.kernels[0].name = "bad \xff utf8";
  const std::string page = html_page(page_model(input));
  CHECK(is_html_page(page));
  CHECK_FALSE(is_html_page("<!doctype html><p>mine"));
  CHECK(page.find("<script>alert") == std::string::npos);
  CHECK(page.find("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'") != std::string::npos);
  for (const char* outside : {"src=\"http", "href=\"http", "@import", "url(http"})
    CHECK(page.find(outside) == std::string::npos);
  for (const char* mark : {"@STYLE@", "@SCRIPT@", "@TITLE@"}) CHECK(page.find(mark) == std::string::npos);
  const std::string open = "id=\"model\">";
  const size_t begin = page.find(open) + open.size(), end = page.find("</script>", begin);
  CHECK(json::parse(page.substr(begin, end - begin))["program"] == input.report.program);
}

TEST_CASE("predictions are listed with the model that made them", "[tune]") {
  ReportInput input = an_input();
  input.predictions = {{"transpose_add_fusion", "tile=8,8", 900, 1000}};
  input.predicted_by = "analytical";
  const json m = page_model(input);
  CHECK(m["predictions"][0]["choice"] == "tile 8×8");
  CHECK(m["predictions"][0]["measured_ns"] == 1000.0);
  CHECK(m["predicted_by"] == "analytical");
}

// ---- the trace

namespace {

struct Event {
  uint64_t track = 0, at_ns = 0;
  int type = 0;
  std::string name;
  double value = 0;
};

struct ReadTrace {
  std::map<uint64_t, std::string> tracks;
  std::vector<Event> events;
};

ReadTrace read_trace(const std::string& bytes) {
  ReadTrace trace;
  protozero::pbf_reader all(bytes);
  while (all.next(1)) {
    protozero::pbf_reader packet = all.get_message();
    Event event;
    bool is_event = false;
    while (packet.next()) {
      if (packet.tag() == 60) {
        protozero::pbf_reader descriptor = packet.get_message();
        uint64_t id = 0;
        while (descriptor.next()) {
          if (descriptor.tag() == 1)
            id = descriptor.get_uint64();
          else if (descriptor.tag() == 2)
            trace.tracks[id] = descriptor.get_string();
          else
            descriptor.skip();
        }
      } else if (packet.tag() == 8) {
        event.at_ns = packet.get_uint64();
      } else if (packet.tag() == 11) {
        is_event = true;
        protozero::pbf_reader inner = packet.get_message();
        while (inner.next()) {
          if (inner.tag() == 9)
            event.type = inner.get_enum();
          else if (inner.tag() == 11)
            event.track = inner.get_uint64();
          else if (inner.tag() == 23)
            event.name = inner.get_string();
          else if (inner.tag() == 44)
            event.value = inner.get_double();
          else
            inner.skip();
        }
      } else {
        packet.skip();
      }
    }
    if (is_event) trace.events.push_back(event);
  }
  return trace;
}

}  // namespace

TEST_CASE("the trace has a slice per candidate and the gain as a counter", "[tune]") {
  const ReadTrace trace = read_trace(perfetto_trace(an_input().report));
  std::vector<std::string> slices;
  std::vector<double> gains;
  std::map<uint64_t, int> open;
  for (const Event& e : trace.events) {
    REQUIRE(trace.tracks.contains(e.track));
    if (e.type == 1) {
      slices.push_back(trace.tracks.at(e.track) + ": " + e.name);
      CHECK(open[e.track]++ == 0);
    } else if (e.type == 2) {
      CHECK(open[e.track]-- == 1);
    } else if (e.type == 4) {
      gains.push_back(e.value);
    }
  }
  CHECK(slices.size() == 5);
  CHECK(slices[0] == "kernels: transpose_add_fusion tile=16,16");
  CHECK(slices[4] == "whole program: kernel k1 tile=8,8");
  CHECK(gains == std::vector<double>{1, 1.25, 1.25});
  CHECK(trace.events[1].at_ns == 1000000000);
  CHECK(trace.events[2].at_ns == 2000000000);
}

TEST_CASE("runs under the profiler are part of the model and of the trace", "[tune]") {
  ReportInput input = an_input();
  RunProfile profile;
  profile.runs = 3;
  profile.run_ns = 900;
  profile.slices = {{"while.1", 0, 0, 0, 500}, {"dot.2", 0, 0, 100, 300},  {"copy.3", 0, 1, 100, 50},
                    {"add.4", 0, 0, 600, 100}, {"dot.2", 1, 0, 1000, 100}, {"dot.2", 2, 0, 2000, 9000}};
  input.before_profile = input.after_profile = profile;
  const json m = page_model(input);
  CHECK(m["profile"]["before"]["parts"]["dot.2"] == 100.0);  // the least of three runs

  const ReadTrace trace = read_trace(perfetto_trace(input.report, &profile, nullptr));
  std::vector<std::string> order;
  const double search_end_ns = 7e9;
  for (const Event& e : trace.events)
    if (e.track >= 1000) {
      order.push_back(e.type == 1 ? trace.tracks.at(e.track) + " " + e.name : "end");
      CHECK(static_cast<double>(e.at_ns) >= search_end_ns);
    }
  CHECK(trace.tracks.at(1000) == "default XLA, under XLA's profiler");
  CHECK(order == std::vector<std::string>{"thread 0 while.1", "thread 0 dot.2", "end", "end", "thread 0 add.4", "end",
                                          "thread 0 dot.2", "end", "thread 0 dot.2", "end", "thread 1 copy.3", "end"});
  input.after_profile->slices.clear();
  input.before_profile->slices.clear();
  CHECK_FALSE(page_model(input).contains("profile"));  // no profiler in this XLA
}

TEST_CASE("without a timeline there is no trace", "[tune]") {
  TuneReport report = an_input().report;
  report.timeline.clear();
  CHECK_THROWS_AS(perfetto_trace(report), Error);
}

}  // namespace hone::report
