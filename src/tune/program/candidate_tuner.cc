#include "tune/program/candidate_tuner.h"

#include <limits>

namespace hone::tune {

ProgramResult tune_candidates(Measurer& measurer, const std::vector<Candidate>& candidates,
                              const CandidateOptions& options) {
  SearchRun run{measurer, options.on_progress};
  const auto measure_all = [&] {
    for (const Candidate& candidate : candidates) {
      if (measurer.seconds_left() <= 0) break;
      run.try_against_default(candidate.name, candidate.decisions, options.min_gain);
    }
  };
  search_and_confirm(
      run, measure_all,
      {.effort = options.confirm, .processes = options.processes, .candidates = std::numeric_limits<int>::max()});
  run.result.lowered = measurer.lower(run.result.decisions, false);
  return std::move(run.result);
}

}  // namespace hone::tune
