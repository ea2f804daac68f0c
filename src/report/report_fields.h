// report.json, field by field: writing (report.cc) and reading (report_read.cc) visit these lists. A visitor has these
// functions, each called with the field's name in JSON and the member:
//   need      a field that every report has
//   maybe     a field that older versions did not write; the member keeps its value
//   number    the same for numbers that may not be finite (null in JSON), with the value that a null is read as
//   given     text that is written only if it is not empty
//   interval  two numbers as a list, each read as 0 if it is null
//   outcome, kind, target   values written by name, and an object
//   list      a list of objects, with the function that visits the fields of an item
//   derived   written from other members, never read
#pragma once

#include <limits>

namespace hone::report {

template <class Visitor, class M>
void visit_measurement(Visitor& v, M& m) {
  v.outcome("outcome", m.outcome);
  v.number("ratio", m.ratio, 0);
  v.interval("interval", m.ratio_low, m.ratio_high);
  v.number("baseline_ns", m.baseline_ns, 0);
  v.number("candidate_ns", m.candidate_ns, 0);
  v.maybe("rounds", m.rounds);
  v.number("compile_ms", m.compile_ms, 0);
  v.number("max_error", m.max_error, std::numeric_limits<double>::infinity());
  if (v.reads() || m.error >= 0) v.number("error", m.error, -1), v.number("default_error", m.default_error, -1);
  v.given("note", m.note);
}

template <class Visitor, class K>
void visit_kernel(Visitor& v, K& k) {
  v.need("name", k.name);
  v.need("fingerprint", k.fingerprint);
  v.need("kind", k.kind);
  v.maybe("count", k.count);
  v.number("share", k.share, 0);
  v.kind("decision", k.decision);
  v.need("key", k.key);
  v.need("default", k.default_value);
  v.need("chosen", k.chosen);
  v.maybe("default_tile", k.default_tile);
  v.number("default_ns", k.default_ns, 0);
  v.number("chosen_ns", k.chosen_ns, 0);
  v.number("gain", k.gain, 1);
  v.interval("gain_interval", k.gain_low, k.gain_high);
  v.maybe("options", k.options);
  v.maybe("tried", k.tried);
  v.maybe("known", k.known);
  v.maybe("complete", k.complete);
  v.maybe("in_place", k.in_place);
  v.maybe("gain_in_place", k.gain_in_place);
  v.maybe("kept", k.kept);
  v.list("top", k.top, [](auto& item, auto& tried) {
    item.need("value", tried.value);
    visit_measurement(item, tried.measurement);
  });
}

template <class Visitor, class S>
void visit_step(Visitor& v, S& s) {
  v.need("what", s.what);
  v.maybe("kept", s.kept);
  visit_measurement(v, s.measurement);
}

template <class Visitor, class E>
void visit_experiment(Visitor& v, E& e) {
  v.need("step", e.step);
  v.need("what", e.what);
  v.number("share", e.share, 1);
  v.number("expected", e.expected, 0);
  v.number("gain", e.gain, 0);
  v.number("predicted_s", e.predicted_s, 0);
  v.number("took_s", e.took_s, 0);
}

template <class Visitor, class T>
void visit_trial(Visitor& v, T& t) {
  v.need("scope", t.scope);
  v.given("kernel", t.kernel);
  v.need("what", t.what);
  v.need("start_s", t.start_s);
  v.need("end_s", t.end_s);
  v.outcome("outcome", t.outcome);
  v.number("ratio", t.ratio, 0);
  v.interval("interval", t.ratio_low, t.ratio_high);
  v.number("candidate_ns", t.candidate_ns, 0);
  v.number("compile_ms", t.compile_ms, 0);
  v.maybe("rounds", t.rounds);
  if (v.reads() || t.scope == "program") {  // kernels are compared only with their defaults
    v.maybe("against", t.against);
    v.maybe("confirms", t.confirms);
    v.maybe("in_place", t.in_place);
  }
}

template <class Visitor, class T>
void visit_target(Visitor& v, T& t) {
  v.maybe("threads", t.threads);
  v.maybe("seed", t.seed);
  v.maybe("weights", t.weights);
  v.maybe("allow_fast_math", t.allow_fast_math);
  v.given("max_isa", t.max_isa);
  v.given("precision", t.precision);
}

template <class Visitor, class P>
void visit_precision(Visitor& v, P& p) {
  v.need("kind", p.kind);
  v.need("weights", p.weights);
  v.need("dots", p.dots);
  v.need("original_ns", p.original_ns);
  v.need("tuned_ns", p.tuned_ns);
  v.need("speedup", p.ratio);
  v.interval("speedup_interval", p.ratio_low, p.ratio_high);
  v.maybe("against_f64", p.against_f64);
  v.list("outputs", p.outputs, [](auto& item, auto& o) {
    item.need("shape", o.shape);
    item.number("largest_error", o.largest, 0);
    item.number("mean_error", o.mean, 0);
    item.number("same_argmax", o.same_argmax, -1);
    item.number("default_largest_error", o.default_largest, 0);
    item.number("default_mean_error", o.default_mean, 0);
  });
}

// The fields that `hone tune --json` prints.
template <class Visitor, class R>
void visit_summary(Visitor& v, R& r) {
  v.need("program", r.program);
  v.need("fingerprint", r.fingerprint);
  v.need("default_ns", r.default_ns);
  v.need("tuned_ns", r.tuned_ns);
  v.need("speedup", r.speedup);
  v.interval("speedup_interval", r.speedup_low, r.speedup_high);
  v.need("verified", r.verified);
  v.maybe("candidates", r.counters.candidates);
  v.maybe("rejected", r.counters.rejected);
  v.maybe("failed", r.counters.failed);
  v.number("seconds", r.seconds, 0);
  v.maybe("known", r.known);
  v.maybe("stopped", r.stopped);
  v.given("note", r.note);
  if (v.reads() || r.untried.experiments > 0) {
    v.maybe("untried_experiments", r.untried.experiments);
    v.maybe("untried_kernels", r.untried.kernels);
    v.number("untried_gain", r.untried.gain, 1);
    v.number("untried_seconds", r.untried.seconds, 0);
  }
  v.derived("seed", [&] { return nlohmann::json(r.target.seed); });
  v.derived("threads", [&] { return nlohmann::json(r.target.threads); });
  v.given("isa", r.isa);
  if (v.reads() || !r.precision.kind.empty())
    v.part("precision", r.precision, [](auto& item, auto& precision) { visit_precision(item, precision); });
  v.derived("decisions", [&] { return decisions_object(r.decisions); });
  v.derived("output", [&] { return r.output.empty() ? nlohmann::json() : nlohmann::json(r.output); });
}

// All other fields.
template <class Visitor, class R>
void visit_details(Visitor& v, R& r) {
  v.maybe("tuned_fingerprint", r.tuned_fingerprint);
  v.maybe("inputs", r.inputs);
  v.maybe("xla_version", r.xla_version);
  v.maybe("host", r.host);
  v.maybe("rounds", r.rounds);
  v.number("max_error", r.max_error, std::numeric_limits<double>::infinity());
  v.maybe("interpreted", r.interpreted);
  v.number("budget_s", r.budget_s, 0);
  v.target("target", r.target);
  v.list("kernels", r.kernels, [](auto& item, auto& kernel) { visit_kernel(item, kernel); });
  v.list("steps", r.steps, [](auto& item, auto& step) { visit_step(item, step); });
  v.list("schedule", r.schedule, [](auto& item, auto& experiment) { visit_experiment(item, experiment); });
  v.list("timeline", r.timeline, [](auto& item, auto& trial) { visit_trial(item, trial); });
}

}  // namespace hone::report
