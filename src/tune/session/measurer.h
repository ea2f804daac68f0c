// The interface of the tuners to one program: its lowering and duels of candidates. A Session implements it with a
// worker; tests use a table.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/stage.h"
#include "graph/decision.h"
#include "graph/input_kind.h"
#include "graph/kernel.h"

namespace hone::tune {

// The outcome of a candidate. The names are the values of the database's column `status`.
enum class Outcome : int8_t { Ok = 0, Mismatch, Unverified, CompileFailed, Crashed, TimedOut, RunFailed };
inline constexpr std::array<const char*, 7> kOutcomeNames = {"ok",      "mismatch",  "unverified", "compile_failed",
                                                             "crashed", "timed_out", "run_failed"};
inline const char* outcome_name(Outcome outcome) { return kOutcomeNames.at(static_cast<size_t>(outcome)); }
// Throws Error for any other name.
inline Outcome outcome_from_name(const std::string& name) {
  for (size_t i = 0; i < kOutcomeNames.size(); ++i)
    if (name == kOutcomeNames[i]) return static_cast<Outcome>(i);
  throw Error("unknown outcome '" + name + "'");
}

// The effort of one duel. Defaults: a careful duel.
struct Duel {
  int min_rounds = 5, max_rounds = 30;
  double budget_ms = 1000;
  double precision = 0.01;   // stop when the interval of the ratio is this narrow
  double abandon_ratio = 0;  // stop when surely slower than this; 0 = never
  bool cold = false;         // of a kernel: all inputs leave the caches before each run
  double patience_ms = 0;    // with one thread: how long rounds may wait for an undisturbed core (base/core_probe.h)
  double limit_s = 60;       // compile, checks and runs together; past it the worker is killed
};

// One measured candidate. Ratios are baseline over candidate: above 1 is faster.
struct Measurement {
  Outcome outcome = Outcome::RunFailed;
  Stage stage = Stage::None;  // where it stopped; None when it is ok or unknown
  double baseline_ns = 0, candidate_ns = 0, ratio = 0, ratio_low = 0, ratio_high = 0;
  int rounds = 0;
  double compile_ms = 0, baseline_compile_ms = 0;
  double max_error = 0;  // largest difference from default XLA's outputs, in units of the tolerance: at most 1 is equal
  bool interpreted = false;  // the outputs agree with XLA's HLO interpreter as well (small programs only)
  double interpreter_s = 0;  // of default XLA: what that is expected to take; 0 = a program too large for it
  double error = -1, default_error = -1;  // of an operation by itself and of default XLA's, from f64 (wire/hone.fbs)
  double core_ns = 0, stolen_ms = 0;      // as in a row of the database (data/record.h)
  std::string note{};                     // why it failed, in the worker's words

  bool ok() const { return outcome == Outcome::Ok; }
  bool rejected() const { return outcome == Outcome::Mismatch || outcome == Outcome::Unverified; }
};

// A duel of whole programs under the profiler, which also times some of their kernels in each run.
struct InPlaceDuel {
  Measurement program;
  std::vector<Measurement> kernels;  // fail with the program, or where a kernel was not seen in every run
};

// Records of a kernel from earlier runs with the same host, XLA version and thread count.
struct KnownKernel {
  struct Best {
    std::string value;  // the default value if no option was faster
    Measurement measurement;
  };
  std::map<std::string, Measurement> measured;  // by option value
  std::optional<Best> best;                     // present only when a search was finished
};

// Thrown by a measurement after an interrupt or well past the end of the budget.
struct Stopped : std::exception {
  const char* what() const noexcept override { return "stopped"; }
};

class Measurer {
 public:
  virtual ~Measurer() = default;
  // Throws Error or RunError when the program cannot be lowered under the decisions.
  virtual Lowered lower(const Decisions& decisions, bool want_fusion) = 0;
  // The same for predicting run times: kernels as often as they run, without tiles to choose from, in less time.
  virtual Lowered lower_to_predict(const Decisions& decisions) { return lower(decisions, /*want_fusion=*/false); }
  // These do not throw for a failing candidate: the outcome says what happened. Both may throw Stopped.
  virtual Measurement measure_kernel(const Kernel& kernel, const std::string& value, const Duel& duel) = 0;
  virtual Measurement measure_program(const Decisions& candidate, const Decisions& baseline, const Duel& duel) = 0;
  // As measure_program(), and the time of these kernels in the same runs, with an option of each decided in the candidate:
  // they must be those of the program lowered under the decisions without single kernels, which both sides must share. The
  // profiler slows the runs of both sides. Only where times_in_place().
  virtual InPlaceDuel measure_in_place(const Decisions& /*candidate*/, const Decisions& /*baseline*/,
                                       const std::vector<const Kernel*>& /*kernels*/, const Duel&) {
    throw InternalError("this measurer does not time kernels in the program");
  }
  virtual bool times_in_place() const { return false; }
  // The outputs under the decisions beside default XLA's on inputs of one kind, run once and not timed. Ok as well where the kind
  // changes no input, or the decisions may differ on it (graph/allowed_difference.h). Does not throw for a failing candidate.
  virtual Measurement verify_on(const Decisions& /*candidate*/, InputKind, double /*limit_s*/) {
    return {.outcome = Outcome::Ok};
  }
  // Candidates that are likely to be measured next, most likely first: they may be compiled in the meantime.
  virtual void prepare(const std::vector<Decisions>&) {}
  virtual KnownKernel known(const Kernel& kernel) = 0;
  // A kernel's search is complete; `best` may hold the default value.
  virtual void remember(const Kernel& kernel, const KnownKernel::Best& best) = 0;
  // Nanoseconds by instruction of a run under the decisions, from so many runs under the profiler; empty where there is none.
  virtual std::map<std::string, double> instruction_times(const Decisions& decisions, int runs) = 0;
  // Seconds of the search budget that remain, always finite; 0 after an interrupt.
  virtual double seconds_left() const = 0;
  // The next measurement runs in a process of its own, with memory laid out anew.
  virtual void fresh_process() = 0;
  // Begins the final confirmation: interrupts and the budget no longer throw Stopped.
  virtual void begin_confirmation() = 0;
};

}  // namespace hone::tune
