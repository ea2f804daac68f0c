#include "tune/program/candidate_tuner.h"

#include <algorithm>

namespace hone::tune {

ProgramResult tune_candidates(Measurer& measurer, const std::vector<Candidate>& candidates,
                              const CandidateOptions& options) {
  ProgramResult result;
  DefaultRun run;
  std::vector<std::pair<double, const Candidate*>> found;
  double gain = 1;
  try {
    options.on_progress("default XLA", gain);
    run = measure_default(measurer);
    result.note = run.note;
    for (const Candidate& candidate : candidates) {
      if (!result.note.empty() || measurer.seconds_left() <= 0) break;
      Step step{candidate.name, measurer.measure_program(candidate.decisions, {}, run.trial), false};
      const Measurement& m = step.measurement;
      step.kept = m.ok() && m.ratio_low > 1 && m.ratio > options.min_gain;
      if (step.kept) {
        found.emplace_back(m.ratio, &candidate);
        gain = std::max(gain, m.ratio);
      }
      result.steps.push_back(step);
      options.on_progress(step.what, gain);
    }
  } catch (const Stopped&) {
    result.stopped = true;
  }
  result.stopped = result.stopped || measurer.seconds_left() <= 0;
  measurer.begin_confirmation();
  if (run.measurement.rounds == 0) run = measure_default_after_stop(measurer);
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  result.measurement = run.measurement;
  result.measurement.candidate_ns = run.measurement.baseline_ns;
  result.measurement.ratio = result.measurement.ratio_low = result.measurement.ratio_high = 1;
  for (const auto& [ratio, candidate] : found) {
    options.on_progress("confirmation", gain);
    const Confirmation confirmation = confirm(measurer, candidate->decisions, options.confirm, options.processes);
    for (const Measurement& duel : confirmation.duels)
      result.steps.push_back({"confirmation", duel, confirmation.holds});
    if (!confirmation.holds) continue;
    result.decisions = candidate->decisions;
    result.measurement = confirmation.combined;
    break;
  }
  result.lowered = measurer.lower(result.decisions, false);
  return result;
}

}  // namespace hone::tune
