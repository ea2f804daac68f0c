#include "optimize/duels.h"

#include <set>

#include "tune/session/decision_list.h"

namespace hone::optimize {

std::vector<DuelWinner> winners_of_duels(tune::Measurer& measurer, const Decisions& base,
                                         const std::vector<DuelCandidate>& candidates, const DuelRules& rules) {
  std::vector<DuelWinner> winners;
  std::set<std::string> decided;
  Decisions best = base;
  int duels = 0;
  for (const DuelCandidate& candidate : candidates) {
    if (duels == rules.most) break;
    if (decided.contains(candidate.decision.key)) continue;
    const Decisions with = tune::merged(best, {candidate.decision});
    tune::Measurement m = measurer.measure_program(with, best, rules.duel);
    ++duels;
    const auto wins = [&] { return m.ok() && rules.wins(m); };
    if (wins() && rules.confirmed) {
      const tune::Measurement first = m;
      measurer.fresh_process();
      m = measurer.measure_program(with, best, rules.duel);
      if (wins() && first.ratio < m.ratio) m = first;
    }
    if (!wins()) continue;
    best = with;
    decided.insert(candidate.decision.key);
    winners.push_back({candidate, m});
  }
  return winners;
}

}  // namespace hone::optimize
