// A measurer that answers from functions instead of a worker; every measurement takes some simulated time.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tune/session/decision_list.h"
#include "tune/session/measurer.h"

namespace hone::tune {

inline Measurement measured(double ratio, double spread = 0.002) {
  Measurement m{.outcome = Outcome::Ok,
                .baseline_ns = 1e6,
                .candidate_ns = 1e6 / ratio,
                .ratio = ratio,
                .ratio_low = ratio - spread,
                .ratio_high = ratio + spread,
                .rounds = 9};
  return m;
}

inline Measurement failed(Outcome outcome) {
  Measurement m{.outcome = outcome};
  return m;
}

class FakeMeasurer : public Measurer {
 public:
  // Speed-up of a kernel option over its default.
  std::function<Measurement(const Kernel&, const std::string&)> kernel = [](auto&, auto&) { return measured(1); };
  // The same in the program; none = this measurer cannot.
  std::function<Measurement(const Kernel&, const std::string&)> in_place;
  // Speed of a whole program relative to default XLA; the duel's ratio is the quotient of two.
  std::function<double(const Decisions&)> speed = [](auto&) { return 1.0; };
  std::function<Outcome(const Decisions&)> outcome = [](auto&) { return Outcome::Ok; };
  std::function<Outcome(const Decisions&, InputKind)> on_inputs = [](auto&, InputKind) { return Outcome::Ok; };
  std::function<Lowered(const Decisions&, bool)> lowering = [](auto&, bool) { return Lowered{}; };
  std::map<std::string, double> times;  // of instructions, as the profiler would say
  double left_s = 1e9;
  double each_s = 0;                    // simulated time of one measurement
  double program_s = 0;                 // and of one of a whole program
  double run_ns = 1e6, compile_ms = 0;  // of default XLA
  double interpreter_s = 0;
  int stop_after = -1;  // throws Stopped at this measurement; -1 = never

  std::vector<std::string> kernel_calls, program_calls, in_place_calls;
  std::vector<double> limits;  // in seconds, of each of program_calls
  std::vector<int> rounds;     // the least, of each of program_calls
  std::map<std::string, KnownKernel> database;
  std::vector<InputKind> inputs_seen;  // by verify_on()
  bool confirming = false;
  int processes = 1;

  Lowered lower(const Decisions& decisions, bool want_fusion) override { return lowering(decisions, want_fusion); }
  Measurement measure_kernel(const Kernel& k, const std::string& value, const Duel&) override {
    spend(0);
    kernel_calls.push_back(k.fingerprint + " " + value);
    return kernel(k, value);
  }
  Measurement measure_program(const Decisions& candidate, const Decisions& baseline, const Duel& duel) override {
    spend(program_s);
    limits.push_back(duel.limit_s);
    rounds.push_back(duel.min_rounds);
    program_calls.push_back(to_text(candidate));
    if (const Outcome o = outcome(candidate); o != Outcome::Ok) return failed(o);
    Measurement m = measured(speed(candidate) / speed(baseline));
    m.baseline_ns = run_ns / speed(baseline);
    m.candidate_ns = run_ns / speed(candidate);
    m.compile_ms = m.baseline_compile_ms = compile_ms;
    m.interpreter_s = interpreter_s;
    return m;
  }
  InPlaceDuel measure_in_place(const Decisions& candidate, const Decisions& baseline,
                               const std::vector<const Kernel*>& kernels, const Duel& duel) override {
    in_place_calls.push_back(to_text(candidate));
    InPlaceDuel found{measure_program(candidate, baseline, duel), {}};
    for (const Kernel* k : kernels)
      found.kernels.push_back(found.program.ok() ? in_place(*k, value_of(candidate, *k)) : found.program);
    return found;
  }
  bool times_in_place() const override { return in_place != nullptr; }
  Measurement verify_on(const Decisions& candidate, InputKind inputs, double) override {
    inputs_seen.push_back(inputs);
    return failed(on_inputs(candidate, inputs));
  }
  KnownKernel known(const Kernel& k) override { return database[k.fingerprint]; }
  void remember(const Kernel& k, const KnownKernel::Best& best) override { database[k.fingerprint].best = best; }
  std::map<std::string, double> instruction_times(const Decisions&, int) override { return times; }
  double seconds_left() const override { return left_s > 0 ? left_s : 0; }
  void fresh_process() override { ++processes; }
  void begin_confirmation() override { confirming = true; }

 private:
  void spend(double more_s) {
    left_s -= each_s + more_s;
    if (!confirming && stop_after >= 0 && stop_after-- == 0) throw Stopped();
  }
};

inline Kernel a_kernel(const std::string& fingerprint, std::vector<std::string> options, int default_option = 0,
                       double weight = 0) {
  Kernel k;
  k.fingerprint = k.name = fingerprint;
  k.kind = "fusion";
  k.dimension = {DecisionKind::Codegen, fingerprint, std::move(options), default_option, weight};
  return k;
}

}  // namespace hone::tune
