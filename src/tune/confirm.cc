// The duels that decide whether a result is kept.
#include <algorithm>
#include <cmath>

#include "tune/program_tuner.h"

namespace hone::tune {

Confirmation confirm(Bench& bench, const Decisions& decisions, const Duel& effort, int processes) {
  Confirmation result;
  Measurement& all = result.combined;
  for (int i = 0; i < processes; ++i) {
    if (i > 0) bench.fresh_process();
    const Measurement m = bench.measure_program(decisions, {}, effort);
    result.duels.push_back(m);
    if (!m.ok()) {
      all = m;
      return result;
    }
    if (i == 0) {
      all = m;
    } else {
      const auto fold = [&](double& mean, double value) {
        mean = std::pow(mean, i / (i + 1.0)) * std::pow(value, 1 / (i + 1.0));
      };
      fold(all.ratio, m.ratio);
      fold(all.ratio_low, m.ratio_low);
      fold(all.ratio_high, m.ratio_high);
      fold(all.baseline_ns, m.baseline_ns);
      fold(all.candidate_ns, m.candidate_ns);
      all.rounds += m.rounds;
      all.max_error = std::max(all.max_error, m.max_error);
      all.interpreted = all.interpreted || m.interpreted;
    }
    if (m.ratio < kSlower) return result;
  }
  result.holds = all.ratio_low >= 1;
  return result;
}

ProgramResult confirm_decisions(Bench& bench, const Decisions& decisions, const Duel& effort) {
  bench.begin_confirmation();
  ProgramResult result;
  result.measurement = bench.measure_program(decisions, {}, effort);
  const Measurement& m = result.measurement;
  // The search has proved the gain; a short duel has to show only that it is not gone.
  const bool kept = m.ok() && (decisions.empty() || m.ratio_high >= 1);
  result.steps.push_back({"confirmation", m, kept});
  if (!kept) return result;
  if (decisions.empty()) {
    result.measurement.candidate_ns = m.baseline_ns;
    result.measurement.ratio = result.measurement.ratio_low = result.measurement.ratio_high = 1;
  }
  result.decisions = decisions;
  result.lowered = bench.lower(decisions, false);
  return result;
}

void mark_kept(ProgramResult& result) {
  for (KernelReport& kernel : result.kernels) {
    const Decision decision{kernel.decision, kernel.key, kernel.chosen};
    kernel.kept = std::find(result.decisions.begin(), result.decisions.end(), decision) != result.decisions.end();
  }
}

}  // namespace hone::tune
