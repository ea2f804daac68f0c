#include "report/html_report.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "graph/kernel_option.h"
#include "report/decision_words.h"
#include "report/report_page.h"  // made from src/tune/page by CMake

namespace hone::report {

namespace {

using nlohmann::json;

constexpr char kTitleMark[] = "@TITLE@", kModelMark[] = "@MODEL@";
constexpr char kSignature[] = "<!doctype html><!-- hone report -->";

json finite(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

// Seconds and ratios with only as many digits as the page can show, to keep the pages of long searches small.
double rounded(double value, double per_unit) { return std::round(value * per_unit) / per_unit; }

// The tile of an option that has a tile and no flags: "tile=8,128", not "tile=8,128;slp=0".
std::optional<std::vector<int64_t>> plain_tile(const std::string& value) {
  const std::optional<KernelOption> option = KernelOption::try_parse(value);
  if (!option || option->emitter != KernelOption::Emitter::Tiled || !option->flags_text().empty()) return std::nullopt;
  return option->tile;
}

struct Measured {
  double ratio = 0;  // over the kernel's default
  tune::Outcome outcome = tune::Outcome::Ok;
};

// The latest measurement of each option of a kernel: the database's rows, replaced by those of the package.
std::map<std::string, Measured> measured_options(const tune::KernelReport& kernel, const ReportInput& input) {
  std::map<std::string, Measured> options;
  if (const auto rows = input.rows.find(kernel.fingerprint); rows != input.rows.end())
    for (const Record& row : rows->second) options[row.decisions] = {row.ratio, tune::outcome_from_name(row.status)};
  for (auto tried = kernel.top.rbegin(); tried != kernel.top.rend(); ++tried)
    options[tried->value] = {tried->measurement.ratio, tried->measurement.outcome};
  for (const tune::Trial& t : input.report.timeline)
    if (t.scope == "kernel" && t.kernel == kernel.fingerprint) options[t.what] = {t.ratio, t.outcome};
  // The search's own result, from a longer duel.
  if (kernel.improved()) options[kernel.chosen] = {kernel.gain, tune::Outcome::Ok};
  options.erase(kernel.default_value);
  return options;
}

// Kernels with a transpose inside, according to the drawings.
std::set<std::string> transposing_kernels(const ReportInput& input) {
  std::set<std::string> kernels;
  for (const auto* graph : {&input.before, &input.after}) {
    if (!*graph) continue;
    for (const DrawnNode& node : (*graph)->nodes)
      for (const auto& [opcode, count] : node.inside)
        if (opcode == "transpose" && !node.kernel.empty()) kernels.insert(node.kernel);
  }
  return kernels;
}

json kernel_model(const tune::KernelReport& k, const ReportInput& input, const std::set<std::string>& transposing) {
  json tiles = json::array(), others = json::array();
  for (const auto& [value, measured] : measured_options(k, input)) {
    json row = {{"ratio", rounded(measured.ratio, 1e4)}, {"outcome", tune::outcome_name(measured.outcome)}};
    if (const auto tile = plain_tile(value)) {
      row["tile"] = *tile;
      tiles.push_back(std::move(row));
    } else {
      row["words"] = value_in_words(value);
      others.push_back(std::move(row));
    }
  }
  json j = {{"name", k.name},
            {"words", kernel_in_words(k.name, transposing.contains(k.fingerprint))},
            {"fingerprint", k.fingerprint},
            {"kind", k.kind},
            {"count", k.count},
            {"share", finite(k.share)},
            {"default", value_in_words(k.default_value, k.default_tile)},
            {"chosen", k.improved() ? json(value_in_words(k.chosen)) : json(nullptr)},
            {"default_ns", finite(k.default_ns)},
            {"chosen_ns", finite(k.chosen_ns)},
            {"gain", k.gain},
            {"interval", {finite(k.gain_low), finite(k.gain_high)}},
            {"options", k.options},
            {"tried", k.tried},
            {"known", k.known},
            {"complete", k.complete},
            {"kept", k.kept},
            {"tiles", std::move(tiles)},
            {"others", std::move(others)}};
  if (!k.default_tile.empty()) j["default_tile"] = tile_from_text(k.default_tile);
  if (const auto tile = plain_tile(k.chosen); k.improved() && tile) j["chosen_tile"] = *tile;
  return j;
}

json search_model(const TuneReport& report) {
  const std::vector<double> gains = tune::gains_over_default(report.timeline);
  const std::vector<bool> adopted = tune::adopted_trials(report.timeline);
  std::map<std::string, std::string> names;
  for (const tune::KernelReport& k : report.kernels) names[k.fingerprint] = k.name;
  json trials = json::array();
  double kernels_s = 0, programs_s = 0, lowering_s = 0, compile_s = 0;
  for (size_t i = 0; i < report.timeline.size(); ++i) {
    const tune::Trial& t = report.timeline[i];
    (t.scope == "kernel" ? kernels_s : t.scope == "program" ? programs_s : lowering_s) += t.end_s - t.start_s;
    compile_s += t.compile_ms / 1e3;
    json row = {{"scope", t.scope},
                {"what", t.scope == "kernel" ? value_in_words(t.what) : t.what},
                {"start", rounded(t.start_s, 1e3)},
                {"end", rounded(t.end_s, 1e3)},
                {"outcome", tune::outcome_name(t.outcome)},
                {"ratio", rounded(t.ratio, 1e4)}};
    if (t.scope == "program") row["gain"] = gains[i] > 0 ? json(rounded(gains[i], 1e4)) : json(nullptr);
    if (adopted[i]) row["adopted"] = true;
    if (t.confirms) row["confirms"] = true;
    if (const auto name = names.find(t.kernel); name != names.end()) row["kernel"] = name->second;
    trials.push_back(std::move(row));
  }
  json steps = json::array();
  double best = 1;
  for (const tune::Step& s : report.steps) {
    if (s.what == "confirmation") continue;  // its duels are against default XLA
    steps.push_back({{"what", s.what},
                     {"outcome", tune::outcome_name(s.measurement.outcome)},
                     {"ratio", finite(s.measurement.ratio)},
                     {"gain", finite(best * s.measurement.ratio)},
                     {"adopted", s.kept}});
    if (s.kept) best *= s.measurement.ratio;
  }
  return {{"trials", std::move(trials)}, {"steps", std::move(steps)}, {"kernels_s", kernels_s},
          {"programs_s", programs_s},    {"lowering_s", lowering_s},  {"compile_s", compile_s}};
}

// Positions are whole pixels, to keep the page of a graph with thousands of boxes small.
json graph_model(const DrawnGraph& graph) {
  const auto pixel = [](double value) { return static_cast<int64_t>(std::lround(value)); };
  json nodes = json::array(), edges = json::array(), parts = json::array();
  for (const DrawnNode& n : graph.nodes) {
    json node = {{"name", n.name},  {"op", n.opcode},  {"shape", n.shape},
                 {"x", pixel(n.x)}, {"y", pixel(n.y)}, {"w", pixel(n.width)}};
    if (!n.kernel.empty()) node["kernel"] = n.kernel;
    if (!n.inside.empty()) node["inside"] = n.inside;
    if (!n.inputs.empty()) node["inputs"] = n.inputs;
    nodes.push_back(std::move(node));
  }
  for (const DrawnEdge& e : graph.edges) {
    json edge = {e.from, e.to};
    for (const auto& [x, y] : e.via) {
      edge.push_back(pixel(x));
      edge.push_back(pixel(y));
    }
    edges.push_back(std::move(edge));
  }
  for (const DrawnPart& p : graph.parts)
    parts.push_back(
        {{"title", p.title}, {"x", pixel(p.x)}, {"y", pixel(p.y)}, {"w", pixel(p.width)}, {"h", pixel(p.height)}});
  return {{"nodes", std::move(nodes)},          {"edges", std::move(edges)},     {"parts", std::move(parts)},
          {"width", pixel(graph.width)},        {"height", pixel(graph.height)}, {"box_height", kBoxHeight},
          {"instructions", graph.instructions}, {"fusions", graph.fusions},      {"fused", graph.fused}};
}

// Each instruction's time per run, the minimum over the runs, since other load on the machine only adds time.
json profile_model(const RunProfile& profile) {
  std::map<std::string, std::vector<double>> times;
  for (const ProfileSlice& slice : profile.slices) {
    std::vector<double>& runs = times[slice.name];
    runs.resize(profile.runs);
    if (slice.run >= 0 && slice.run < profile.runs) runs[slice.run] += slice.duration_ns;
  }
  json parts = json::object();
  for (const auto& [name, runs] : times) parts[name] = std::round(*std::min_element(runs.begin(), runs.end()));
  return {{"run_ns", finite(profile.run_ns)}, {"runs", profile.runs}, {"parts", std::move(parts)}};
}

json decisions_model(const TuneReport& report, const std::set<std::string>& transposing) {
  json list = json::array();
  for (const DecisionWords& d : decisions_in_words(report, transposing)) {
    json row = {{"kind", decision_kind_name(d.kind)}, {"text", d.text}};
    if (!d.kernel.empty()) row["kernel"] = d.kernel;
    if (d.gain > 0) row["gain"] = d.gain;
    list.push_back(std::move(row));
  }
  return list;
}

// The kinds of the report's decisions: what each is about, and how many there are.
json kinds_model(const Decisions& decisions) {
  json list = json::array();
  for (const DecisionTraits& kind : decision_kinds()) {
    const auto count =
        std::count_if(decisions.begin(), decisions.end(), [&](const Decision& d) { return d.kind == kind.kind; });
    if (count) list.push_back({{"kind", kind.name}, {"words", kind.words}, {"count", count}});
  }
  return list;
}

// JSON between script tags: no "<" may stand in it.
std::string script_text(const json& model) {
  std::string text;
  for (char c : model.dump(-1, ' ', false, json::error_handler_t::replace)) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '&')
      result += "&amp;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      result += c;
  }
  return result;
}

}  // namespace

json page_model(const ReportInput& input) {
  const TuneReport& r = input.report;
  const std::set<std::string> transposing = transposing_kernels(input);
  json kernels = json::array();
  for (const tune::KernelReport& k : r.kernels) kernels.push_back(kernel_model(k, input, transposing));
  json model = {{"program", r.program},
                {"file", input.file},
                {"hone", input.hone_version},
                {"fingerprint", r.fingerprint},
                {"tuned_fingerprint", r.tuned_fingerprint},
                {"host", r.host},
                {"xla", r.xla_version},
                {"threads", r.target.threads},
                {"seed", r.target.seed},
                {"weights", r.target.weights.size()},
                {"fast_math", r.target.allow_fast_math},
                {"inputs", r.inputs},
                {"default_ns", finite(r.default_ns)},
                {"tuned_ns", finite(r.tuned_ns)},
                {"speedup", finite(r.speedup)},
                {"interval", {finite(r.speedup_low), finite(r.speedup_high)}},
                {"rounds", r.rounds},
                {"verified", r.verified},
                {"max_error", finite(r.max_error)},
                {"interpreted", r.interpreted},
                {"candidates", r.counters.candidates},
                {"rejected", r.counters.rejected},
                {"failed", r.counters.failed},
                {"seconds", r.seconds},
                {"budget_s", finite(r.budget_s)},
                {"known", r.known},
                {"stopped", r.stopped},
                {"note", r.note},
                {"decisions", decisions_model(r, transposing)},
                {"kinds", kinds_model(r.decisions)},
                {"kernels", std::move(kernels)},
                {"search", search_model(r)},
                {"no_graphs", input.no_graphs},
                {"predicted_by", input.predicted_by}};
  if (input.before && input.after) {
    model["before"] = graph_model(*input.before);
    model["after"] = graph_model(*input.after);
  }
  if (input.before_profile && input.after_profile && !input.before_profile->slices.empty())
    model["profile"] = {{"before", profile_model(*input.before_profile)},
                        {"after", profile_model(*input.after_profile)}};
  model["predictions"] = json::array();
  for (const Prediction& p : input.predictions)
    model["predictions"].push_back({{"kernel", p.kernel},
                                    {"choice", value_in_words(p.choice)},
                                    {"predicted_ns", p.predicted_ns},
                                    {"measured_ns", p.measured_ns}});
  return model;
}

std::string html_page(const json& model) {
  const std::string page = kReportPage;
  const size_t title = page.find(kTitleMark), data = page.find(kModelMark);  // in this order in the template
  const size_t after_title = title + sizeof kTitleMark - 1, after_data = data + sizeof kModelMark - 1;
  const std::string program = model.value("program", "");
  return page.substr(0, title) + escaped(program) + page.substr(after_title, data - after_title) + script_text(model) +
         page.substr(after_data);
}

bool is_html_page(const std::string& text) { return text.rfind(kSignature, 0) == 0; }

}  // namespace hone::report
