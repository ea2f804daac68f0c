// The two kinds of row in the record database: plain structs, each with one list of fields.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

// The scope of rows about a kernel: measured with its inputs in the caches, or with all of them out of these.
inline const char* kernel_scope(bool cold) { return cold ? "cold kernel" : "kernel"; }

// One measured candidate. Ratios are default/candidate run time: above 1 is faster than default XLA.
struct Record {
  int64_t id = 0;         // assigned by the database
  std::string scope;      // "kernel" | "cold kernel", whose inputs left the caches before each run | "program"
  std::string program;    // fingerprint
  std::string kernel;     // fingerprint; empty when scope is "program"
  std::string decisions;  // to_text() of the decisions; for a kernel the decision's value
  double baseline_ns = 0, candidate_ns = 0;
  double ratio = 0, ratio_low = 0, ratio_high = 0;  // 0 if nothing was timed
  int rounds = 0;                                   // of the interleaved duel
  double compile_ms = 0;
  bool verified = false;  // outputs were compared with default XLA's and agree
  double max_error = 0;   // largest difference seen; infinite for NaN
  std::string status;     // one of record_statuses()
  std::string note;       // free text
  std::string host;       // CPU model and cores
  int threads = 1;
  uint64_t seed = 0;
  std::string xla_version;
  std::string created;      // UTC, 2026-08-01T12:00:00.123Z; filled in by Database::add when empty
  std::string stage;        // where a candidate that is not ok failed: stage_name(); empty if unknown
  bool finished = false;    // the best option of its kernel's finished search, possibly the default
  std::string baseline;     // to_text() of the baseline; empty for default XLA
  std::string output_dims;  // "128x256", in rows for the structure of a kernel (tune/kernel/transfer.h)
  double core_ns = 0;       // base/core_probe.h beside the rounds of the duel, their median; 0 = not measured
  double stolen_ms = 0;     // by the hypervisor, during the duel
  bool operator==(const Record&) const = default;
};

// "ok" (timed, outputs agree), "mismatch", "unverified" (timed, outputs prove nothing), "compile_failed", "crashed",
// "timed_out", "run_failed".
const std::vector<std::string>& record_statuses();

// The final result of tuning one program under one set of conditions (the fields up to `options`, its key).
struct Tuned {
  std::string program;  // fingerprint
  std::string host;
  int threads = 1;
  std::string weights;  // parameters declared constant, as text: "0,3-9"
  std::string xla_version;
  std::string options;    // further options that the result depends on, canonical text
  std::string decisions;  // JSON
  double default_ns = 0, tuned_ns = 0;
  double speedup = 0, speedup_low = 0, speedup_high = 0;
  bool verified = false;
  int64_t candidates = 0;  // measured
  double seconds = 0;      // spent tuning
  uint64_t seed = 0;
  std::string created;
  bool operator==(const Tuned&) const = default;
};

// The faults of a row; empty if it is valid.
std::vector<std::string> problems(const Record& record);
std::vector<std::string> problems(const Tuned& tuned);

// Calls visit(column name, field) for every stored field except `id`, in column order. Tables, reading, writing and
// export all follow these two lists.
template <class R, class Visit>
void for_each_record_field(R& r, Visit&& visit) {
  visit("scope", r.scope);
  visit("program", r.program);
  visit("kernel", r.kernel);
  visit("decisions", r.decisions);
  visit("baseline_ns", r.baseline_ns);
  visit("candidate_ns", r.candidate_ns);
  visit("ratio", r.ratio);
  visit("ratio_low", r.ratio_low);
  visit("ratio_high", r.ratio_high);
  visit("rounds", r.rounds);
  visit("compile_ms", r.compile_ms);
  visit("verified", r.verified);
  visit("max_error", r.max_error);
  visit("status", r.status);
  visit("note", r.note);
  visit("host", r.host);
  visit("threads", r.threads);
  visit("seed", r.seed);
  visit("xla_version", r.xla_version);
  visit("created", r.created);
  visit("stage", r.stage);
  visit("finished", r.finished);
  visit("baseline", r.baseline);
  visit("output_dims", r.output_dims);
  visit("core_ns", r.core_ns);
  visit("stolen_ms", r.stolen_ms);
}

template <class T, class Visit>
void for_each_tuned_field(T& t, Visit&& visit) {
  visit("program", t.program);
  visit("host", t.host);
  visit("threads", t.threads);
  visit("weights", t.weights);
  visit("xla_version", t.xla_version);
  visit("options", t.options);
  visit("decisions", t.decisions);
  visit("default_ns", t.default_ns);
  visit("tuned_ns", t.tuned_ns);
  visit("speedup", t.speedup);
  visit("speedup_low", t.speedup_low);
  visit("speedup_high", t.speedup_high);
  visit("verified", t.verified);
  visit("candidates", t.candidates);
  visit("seconds", t.seconds);
  visit("seed", t.seed);
  visit("created", t.created);
}

}  // namespace hone
