// report.json of a package, read back.
#include <fmt/core.h>

#include <limits>

#include "base/error.h"
#include "report/report.h"

namespace hone::report {

namespace {

using nlohmann::json;

// One object of the report, whose fields are taken by name into places that keep their defaults.
class Fields {
 public:
  Fields(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object())
      throw Error("the report is damaged: an object is missing", where_, "tune the program again");
  }

  template <class T>
  void need(const char* name, T& into) const {
    if (!object_.contains(name))
      throw Error(fmt::format("the report has no '{}'", name), where_, "tune the program again");
    take(name, into);
  }
  template <class T>
  void maybe(const char* name, T& into) const {
    if (object_.contains(name)) take(name, into);
  }
  // Numbers that were not finite are written as null.
  void number(const char* name, double& into, double if_null) const {
    if (object_.contains(name) && object_[name].is_null())
      into = if_null;
    else
      maybe(name, into);
  }
  void outcome(const char* name, tune::Outcome& into) const {
    std::string text;
    need(name, text);
    into = tune::outcome_from_name(text);
  }
  void interval(const char* name, double& low, double& high) const {
    if (!object_.contains(name)) return;
    const json& pair = object_[name];
    if (!pair.is_array() || pair.size() != 2) wrong(name);
    for (int i : {0, 1})
      if (!pair[i].is_number() && !pair[i].is_null()) wrong(name);
    low = pair[0].is_null() ? 0 : pair[0].get<double>();
    high = pair[1].is_null() ? 0 : pair[1].get<double>();
  }
  // Calls read(fields of the item) for every item of a list.
  template <class Read>
  void each(const char* name, Read&& read) const {
    if (!object_.contains(name)) return;
    if (!object_[name].is_array()) wrong(name);
    int index = 0;
    for (const json& item : object_[name]) read(Fields(item, fmt::format("{}: {} {}", where_, name, index++)));
  }

 private:
  template <class T>
  void take(const char* name, T& into) const {
    const json& value = object_[name];
    constexpr bool is_number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
    if (std::is_same_v<T, bool> ? !value.is_boolean() : is_number && !value.is_number()) wrong(name);
    try {
      into = value.get<T>();
    } catch (const json::exception&) {
      wrong(name);
    }
  }
  [[noreturn]] void wrong(const char* name) const {
    throw Error(fmt::format("the field '{}' is of another type", name), where_, "tune the program again");
  }

  const json& object_;
  std::string where_;
};

void read(const Fields& f, tune::Measurement& m) {
  f.outcome("outcome", m.outcome);
  f.number("ratio", m.ratio, 0);
  f.interval("interval", m.ratio_low, m.ratio_high);
  f.number("baseline_ns", m.baseline_ns, 0);
  f.number("candidate_ns", m.candidate_ns, 0);
  f.maybe("rounds", m.rounds);
  f.number("compile_ms", m.compile_ms, 0);
  f.number("max_error", m.max_error, std::numeric_limits<double>::infinity());
  f.maybe("note", m.note);
}

void read(const Fields& f, tune::KernelReport& k) {
  std::string decision;
  f.need("name", k.name);
  f.need("fingerprint", k.fingerprint);
  f.need("kind", k.kind);
  f.maybe("count", k.count);
  f.number("share", k.share, 0);
  f.need("decision", decision);
  k.decision = decision_kind_from_name(decision);
  f.need("key", k.key);
  f.need("default", k.default_value);
  f.need("chosen", k.chosen);
  f.maybe("default_tile", k.default_tile);
  f.number("default_ns", k.default_ns, 0);
  f.number("chosen_ns", k.chosen_ns, 0);
  f.number("gain", k.gain, 1);
  f.interval("gain_interval", k.gain_low, k.gain_high);
  f.maybe("options", k.options);
  f.maybe("tried", k.tried);
  f.maybe("known", k.known);
  f.maybe("complete", k.complete);
  f.maybe("kept", k.kept);
  f.each("top", [&](const Fields& row) {
    row.need("value", k.top.emplace_back().value);
    read(row, k.top.back().measurement);
  });
}

void read(const Fields& f, tune::Trial& t) {
  f.need("scope", t.scope);
  f.maybe("kernel", t.kernel);
  f.need("what", t.what);
  f.need("start_s", t.start_s);
  f.need("end_s", t.end_s);
  f.outcome("outcome", t.outcome);
  f.number("ratio", t.ratio, 0);
  f.interval("interval", t.ratio_low, t.ratio_high);
  f.number("candidate_ns", t.candidate_ns, 0);
  f.number("compile_ms", t.compile_ms, 0);
  f.maybe("rounds", t.rounds);
  f.maybe("against", t.against);
  f.maybe("confirms", t.confirms);
}

void read_summary(const Fields& f, TuneReport& r) {
  f.need("program", r.program);
  f.need("fingerprint", r.fingerprint);
  f.maybe("tuned_fingerprint", r.tuned_fingerprint);
  f.need("default_ns", r.default_ns);
  f.need("tuned_ns", r.tuned_ns);
  f.need("speedup", r.speedup);
  f.interval("speedup_interval", r.speedup_low, r.speedup_high);
  f.need("verified", r.verified);
  f.maybe("candidates", r.counters.candidates);
  f.maybe("rejected", r.counters.rejected);
  f.maybe("failed", r.counters.failed);
  f.number("seconds", r.seconds, 0);
  f.maybe("known", r.known);
  f.maybe("stopped", r.stopped);
  f.maybe("note", r.note);
  f.maybe("inputs", r.inputs);
  f.maybe("xla_version", r.xla_version);
  f.maybe("host", r.host);
  f.maybe("rounds", r.rounds);
  f.number("max_error", r.max_error, std::numeric_limits<double>::infinity());
  f.maybe("interpreted", r.interpreted);
  f.number("budget_s", r.budget_s, 0);
}

}  // namespace

TuneReport report_from_json(const json& object, const std::string& where) {
  TuneReport report;
  const Fields fields(object, where);
  read_summary(fields, report);
  if (object.contains("target")) {
    const Fields target(object["target"], where + ": target");
    target.maybe("threads", report.target.threads);
    target.maybe("seed", report.target.seed);
    target.maybe("weights", report.target.weights);
    target.maybe("allow_fast_math", report.target.allow_fast_math);
  }
  fields.each("kernels", [&](const Fields& row) { read(row, report.kernels.emplace_back()); });
  fields.each("steps", [&](const Fields& row) {
    tune::Step& step = report.steps.emplace_back();
    row.need("what", step.what);
    row.maybe("kept", step.kept);
    read(row, step.measurement);
  });
  fields.each("timeline", [&](const Fields& row) { read(row, report.timeline.emplace_back()); });
  for (size_t i = 0; i < report.timeline.size(); ++i)
    if (report.timeline[i].against >= static_cast<int>(i))
      throw Error(fmt::format("candidate {} of the timeline is compared with a later one", i), where);
  return report;
}

}  // namespace hone::report
