#include "optimize/guard.h"

#include <set>

#include "tune/program/confirm.h"
#include "tune/session/decision_list.h"

namespace hone::optimize {

namespace {

constexpr double kLeastGuardedGain = 1.01;
constexpr double kClearGain = 1.05;  // less may be how memory is laid out in one process
// Ends early where the choices are surely slower.
constexpr tune::Duel kGuard{.min_rounds = 4, .max_rounds = 200, .precision = 0.01, .abandon_ratio = 0.97};

const tune::Measurement& smaller(const tune::Measurement& a, const tune::Measurement& b) {
  return a.ratio < b.ratio ? a : b;
}

}  // namespace

bool Guard::gains(const tune::Measurement& m) const {
  return !on() || (m.ratio >= kLeastGuardedGain && m.ratio_low >= 1);
}

tune::Measurement Guard::duel(const Decisions& candidate, const Decisions& against) {
  tune::Duel duel = kGuard;
  duel.budget_ms = 1000 * seconds_;
  duel.limit_s = kGuard.min_rounds * verify_limit_s_ + seconds_;
  return measurer_.measure_program(candidate, against, duel);
}

tune::Measurement Guard::duel_anew(const Decisions& candidate, const Decisions& against) {
  measurer_.fresh_process();
  return duel(candidate, against);
}

tune::Measurement Guard::duel_in_processes(const Decisions& decisions) {
  const tune::Measurement first = duel(decisions, {});
  if (!first.ok()) return first;
  if (!several_threads_) return gains(first) && first.ratio < kClearGain ? duel_anew(decisions, {}) : first;
  const tune::Measurement second = duel_anew(decisions, {});
  if (!second.ok() || gains(second) == gains(first)) return second.ok() ? smaller(first, second) : second;
  const tune::Measurement third = duel_anew(decisions, {});
  return third.ok() ? smaller(third, gains(third) == gains(first) ? first : second) : third;
}

tune::Measurement Guard::check(const Decisions& decisions) {
  tune::Duel once = kOneRound;
  once.limit_s = verify_limit_s_;
  const tune::Measurement m =
      on() && !decisions.empty() ? duel_in_processes(decisions) : measurer_.measure_program(decisions, {}, once);
  if (!m.ok() || decisions.empty() || !gains(m)) return m;  // where nothing is gained, other inputs need no run
  const tune::Measurement others = tune::verify_on_other_inputs(measurer_, decisions, m);
  return others.ok() ? m : others;
}

std::vector<DuelWinner> Guard::winners(const Decisions& base, const std::vector<DuelCandidate>& candidates, int most) {
  std::vector<DuelWinner> winners;
  std::set<std::string> decided;
  Decisions best = base;
  int tried = 0;
  for (const DuelCandidate& candidate : candidates) {
    if (tried == most) break;
    if (decided.contains(candidate.decision.key)) continue;
    const Decisions with = tune::merged(best, {candidate.decision});
    tune::Measurement m = duel(with, best);
    ++tried;
    const auto wins = [&] { return m.ok() && gains(m); };
    if (wins() && several_threads_) {
      const tune::Measurement first = m;
      m = duel_anew(with, best);
      if (wins()) m = smaller(first, m);
    }
    if (!wins()) continue;
    best = with;
    decided.insert(candidate.decision.key);
    winners.push_back({candidate, m});
  }
  return winners;
}

}  // namespace hone::optimize
