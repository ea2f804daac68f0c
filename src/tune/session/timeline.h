// A measurer that forwards every call to another one and records the results with their times. It sees the candidates
// of all tuners, so the tuners need no log of their own.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "tune/session/measurer.h"

namespace hone::tune {

// One recorded call; trials are in the order of the calls. Times are seconds since the timeline began.
struct Trial {
  std::string scope;   // "kernel", "program" or "lower"
  std::string kernel;  // a kernel's fingerprint
  std::string what;    // the kernel's option; for a program the difference from the baseline, in words
  double start_s = 0, end_s = 0;
  Outcome outcome = Outcome::Ok;
  double ratio = 0, ratio_low = 0, ratio_high = 0;  // baseline over candidate; 0 when nothing was timed
  double candidate_ns = 0;
  double compile_ms = 0;
  int rounds = 0;
  int against = -1;       // the last earlier trial whose candidate is this program's baseline; or see below
  bool confirms = false;  // part of the final confirmation
  bool in_place = false;  // a duel that also timed kernels; most are not meant to be adopted

  static constexpr int kDefault = -1, kUnknown = -2;  // `against` default XLA; a candidate that was never measured
};

class Timeline : public Measurer {
 public:
  explicit Timeline(Measurer& measurer) : measurer_(measurer), start_(Clock::now()) {}

  const std::vector<Trial>& trials() const { return trials_; }

  Lowered lower(const Decisions& decisions, bool want_fusion) override;
  Measurement measure_kernel(const Kernel& kernel, const std::string& value, const Duel& duel) override;
  Measurement measure_program(const Decisions& candidate, const Decisions& baseline, const Duel& duel) override;
  InPlaceDuel measure_in_place(const Decisions& candidate, const Decisions& baseline,
                               const std::vector<const Kernel*>& kernels, const Duel& duel) override;
  bool times_in_place() const override { return measurer_.times_in_place(); }
  Measurement verify_on(const Decisions& candidate, InputKind inputs, double limit_s) override {
    return measurer_.verify_on(candidate, inputs, limit_s);
  }
  void prepare(const std::vector<Decisions>& candidates) override { measurer_.prepare(candidates); }
  KnownKernel known(const Kernel& kernel) override { return measurer_.known(kernel); }
  void remember(const Kernel& kernel, const KnownKernel::Best& best) override { measurer_.remember(kernel, best); }
  std::map<std::string, double> instruction_times(const Decisions& decisions, int runs) override {
    return measurer_.instruction_times(decisions, runs);
  }
  double seconds_left() const override { return measurer_.seconds_left(); }
  void fresh_process() override { measurer_.fresh_process(); }
  void begin_confirmation() override;

 private:
  using Clock = std::chrono::steady_clock;
  // Records a call that measures a candidate of the program; `measure` returns a Measurement of it.
  template <class Measure>
  void add_program(const Decisions& candidate, const Decisions& baseline, Measure&& measure);
  double now_s() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  Measurer& measurer_;
  Clock::time_point start_;
  std::vector<Trial> trials_;
  std::map<std::string, int> candidates_;  // decisions of programs -> the last trial that measured them
  bool confirming_ = false;
};

// The decisions that `candidate` adds to `baseline` and those that it lacks: "weights all constant", "6 decisions (5
// library, 1 kernel)"; "default XLA" when both are empty, "the same again" when they are equal.
std::string difference_in_words(const Decisions& candidate, const Decisions& baseline);

// The gain over default XLA of each trial of a program: its ratio, multiplied along the chain of baselines. 0 for other
// trials and where it is not known.
std::vector<double> gains_over_default(const std::vector<Trial>& trials);
// The trials whose candidate became the best so far: later ones were compared with it.
std::vector<bool> adopted_trials(const std::vector<Trial>& trials);

}  // namespace hone::tune
