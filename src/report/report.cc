#include "report/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/error.h"
#include "base/isa.h"
#include "base/text.h"
#include "report/report_fields.h"
#include "tune/session/decision_list.h"

namespace hone::report {

namespace {

using nlohmann::json;

constexpr size_t kTableKernels = 15;
constexpr size_t kTableDecisions = 12;
constexpr size_t kTableOutputs = 4;
constexpr double kWorthMoreTime = 1.005;

// Writes the fields it visits (report_fields.h) into an object.
class FieldWriter {
 public:
  explicit FieldWriter(json& object) : object_(object) {}
  static constexpr bool reads() { return false; }

  template <class T>
  void need(const char* name, const T& value) {
    if constexpr (std::is_floating_point_v<T>)
      object_[name] = finite(value);
    else
      object_[name] = value;
  }
  template <class T>
  void maybe(const char* name, const T& value) {
    need(name, value);
  }
  void number(const char* name, double value, double) { object_[name] = finite(value); }
  void given(const char* name, const std::string& text) {
    if (!text.empty()) object_[name] = text;
  }
  void interval(const char* name, double low, double high) { object_[name] = {finite(low), finite(high)}; }
  void outcome(const char* name, tune::Outcome outcome) { object_[name] = tune::outcome_name(outcome); }
  void kind(const char* name, DecisionKind kind) { object_[name] = decision_kind_name(kind); }
  void target(const char* name, const tune::Target& target) { object_[name] = to_json(target); }
  template <class T, class Visit>
  void part(const char* name, const T& item, Visit&& visit) {
    FieldWriter part(object_[name] = json::object());
    visit(part, item);
  }
  template <class T, class Visit>
  void list(const char* name, const std::vector<T>& items, Visit&& visit) {
    json& rows = object_[name] = json::array();
    for (const T& item : items) {
      FieldWriter row(rows.emplace_back(json::object()));
      visit(row, item);
    }
  }
  template <class Make>
  void derived(const char* name, Make&& make) {
    object_[name] = make();
  }

 private:
  static json finite(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

  json& object_;
};

// At most `width` characters, the end replaced by dots.
std::string clipped(const std::string& text, size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 2) + "..";
}

std::string ratio_text(double ratio, double low, double high) {
  return fmt::format("{:.3f}x  [{:.3f}, {:.3f}]", ratio, low, high);
}

std::string head_text(const TuneReport& r) {
  std::string text =
      fmt::format("{}  ({} thread{}, {})\n", r.program, r.target.threads, r.target.threads == 1 ? "" : "s", r.host);
  text += fmt::format("  default XLA  {:>12}\n", human_ns(r.default_ns));
  text += fmt::format(
      "  tuned        {:>12}   {}\n", human_ns(r.tuned_ns),
      r.decisions.empty() ? "default XLA is the best found" : ratio_text(r.speedup, r.speedup_low, r.speedup_high));
  text +=
      fmt::format("  outputs      {}{}\n",
                  !r.verified        ? "NOT verified"
                  : r.max_error == 0 ? "verified, equal to default XLA's"
                                     : fmt::format("verified, largest difference {:.2g} of the tolerance", r.max_error),
                  r.interpreted ? ", also by XLA's interpreter" : "");
  if (!r.note.empty()) text += fmt::format("  note         {}\n", r.note);
  return text;
}

// The program of the report is the converted one; this is the original beside it.
std::string precision_text(const tune::PrecisionReport& p) {
  if (p.kind.empty()) return "";
  std::string text = fmt::format("  precision    {} in {} weights and {} dots", p.kind, p.weights, p.dots);
  if (p.outputs.empty()) return text + "\n";  // the note says why nothing was compared
  text += fmt::format("; default XLA on the original {}\n", human_ns(p.original_ns));
  text +=
      fmt::format("  over it      {:>12}   {}\n", human_ns(p.tuned_ns), ratio_text(p.ratio, p.ratio_low, p.ratio_high));
  text += fmt::format("               errors against {}, in multiples of its root mean square\n",
                      p.against_f64 ? "the original in f64" : "the original");
  if (p.ratio_high < 1) text += "  note         slower than the original program: use that as it is\n";
  for (size_t i = 0; i < p.outputs.size() && i < kTableOutputs; ++i) {
    const tune::OutputPrecision& o = p.outputs[i];
    text += fmt::format("  error        {}: mean {:.1e}, largest {:.1e} (the original's {:.1e}, {:.1e})", o.shape,
                        o.mean, o.largest, o.default_mean, o.default_largest);
    text += o.same_argmax < 0 ? "\n" : fmt::format(", same argmax in {:.1f} %\n", 100 * o.same_argmax);
  }
  if (p.outputs.size() > kTableOutputs)
    text += fmt::format("               and {} more outputs\n", p.outputs.size() - kTableOutputs);
  return text;
}

std::string kernels_text(const TuneReport& r) {
  std::vector<const tune::KernelReport*> rows;
  for (const tune::KernelReport& k : r.kernels) rows.push_back(&k);
  std::stable_sort(rows.begin(), rows.end(), [](auto* a, auto* b) { return a->share > b->share; });
  if (rows.empty()) return "";
  std::string text = fmt::format("\n  {:<28} {:<11} {:>6} {:<14} {:<18} {:>7}\n", "kernel", "kind", "share", "default",
                                 "best", "gain");
  for (size_t i = 0; i < rows.size() && i < kTableKernels; ++i) {
    const tune::KernelReport& k = *rows[i];
    const char* mark = k.kept ? " *" : "";
    text += fmt::format("  {:<28} {:<11} {:>5.1f}% {:<14} {:<18} {:>6.2f}x{}\n",
                        clipped(k.name + (k.count > 1 ? fmt::format(" x{}", k.count) : ""), 28), clipped(k.kind, 11),
                        100 * k.share, clipped(k.default_value, 14), clipped(k.improved() ? k.chosen : "-", 18), k.gain,
                        mark);
  }
  if (rows.size() > kTableKernels)
    text += fmt::format("  and {} more; * = part of the result\n", rows.size() - kTableKernels);
  else
    text += "  * = part of the result\n";
  return text;
}

// By kind, each under the words of its row, with how many there are. Options of kernels are in the table of kernels.
std::string decisions_text(const TuneReport& r) {
  if (r.decisions.empty()) return "";
  std::string text = "\n  decisions\n";
  size_t left = kTableDecisions;
  for (const DecisionTraits& kind : decision_kinds()) {
    const Decisions group = of_kind(r.decisions, kind.kind);
    if (group.empty()) continue;
    text += fmt::format("    {}: {}\n", kind.words, group.size());
    if (kind.kind == DecisionKind::Codegen) continue;
    const size_t shown = std::min(left, group.size());
    for (size_t i = 0; i < shown; ++i) text += fmt::format("      {}\n", tune::in_words(group[i]));
    if (shown < group.size()) text += fmt::format("      and {} more\n", group.size() - shown);
    left -= shown;
  }
  return text;
}

}  // namespace

TuneReport make_report(tune::Session& session, const tune::ProgramResult& result) {
  TuneReport report;
  report.program = session.name();
  report.fingerprint = session.program().program;
  report.tuned_fingerprint = result.lowered.fingerprint;
  report.target = session.target();
  report.xla_version = session.worker_info().xla_version;
  report.host = session.host();
  report.isa = isa_in_effect(session.target().max_isa);
  report.made_with = session.made_with(session.target().max_isa);
  report.decisions = result.decisions;
  const tune::Measurement& m = result.measurement;
  report.default_ns = m.baseline_ns;
  report.tuned_ns = m.candidate_ns;
  report.speedup = m.ratio;
  report.speedup_low = m.ratio_low;
  report.speedup_high = m.ratio_high;
  report.rounds = m.rounds;
  report.verified = m.ok();
  report.max_error = m.max_error;
  report.interpreted = m.interpreted;
  report.counters = session.counters();
  report.stopped = result.stopped;
  report.note = result.note;
  report.kernels = result.kernels;
  report.steps = result.steps;
  report.schedule = result.schedule;
  report.untried = result.untried;
  return report;
}

json decisions_object(const Decisions& decisions) {
  json object = json::object();
  for (const Decision& d : decisions) object[decision_kind_name(d.kind)][d.key] = d.value;
  return object;
}

json decisions_list(const Decisions& decisions) {
  json list = json::array();
  for (const Decision& d : decisions)
    list.push_back({{"kind", decision_kind_name(d.kind)}, {"key", d.key}, {"value", d.value}});
  return list;
}

Decisions decisions_from_list(const json& list, const std::string& where) {
  if (!list.is_array()) throw Error("the decisions are not a list", where);
  Decisions decisions;
  for (const json& item : list) {
    const auto text = [&](const char* field) {
      if (!item.is_object() || !item.contains(field) || !item[field].is_string())
        throw Error(fmt::format("a decision has no text '{}'", field), where);
      return item[field].get<std::string>();
    };
    decisions.push_back(present({decision_kind_from_name(text("kind")), text("key"), text("value")}));
  }
  std::sort(decisions.begin(), decisions.end());
  return decisions;
}

json to_json(const tune::Target& target) {
  json object = json::object();
  FieldWriter writer(object);
  visit_target(writer, target);
  return object;
}

json summary_json(const TuneReport& report) {
  json object = json::object();
  FieldWriter writer(object);
  visit_summary(writer, report);
  return object;
}

json full_json(const TuneReport& report) {
  json object = summary_json(report);
  FieldWriter writer(object);
  visit_details(writer, report);
  return object;
}

std::string report_text(const TuneReport& r) {
  std::string text = head_text(r) + precision_text(r.precision) + kernels_text(r) + decisions_text(r);
  text += fmt::format("\n  {} candidates, {} rejected, {} failed, {:.1f} s, seed {}{}{}\n", r.counters.candidates,
                      r.counters.rejected, r.counters.failed, r.seconds, r.target.seed,
                      r.known ? ", known from the database" : "", r.stopped ? ", stopped early" : "");
  if (r.untried.experiments > 0 && r.untried.gain >= kWorthMoreTime)
    text += fmt::format("  not tried: {} experiments, {} of them about one kernel; {} more may gain about {:.2f}x\n",
                        r.untried.experiments, r.untried.kernels, human_ns(r.untried.seconds * 1e9), r.untried.gain);
  if (!r.output.empty()) text += fmt::format("  written to {}\n", r.output);
  return text;
}

}  // namespace hone::report
