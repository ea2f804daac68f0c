#include "optimize/layouts.h"

#include <set>

#include "tune/session/decision_list.h"

namespace hone::optimize {

std::vector<ChosenLayout> choose_layouts(tune::Measurer& measurer, const Decisions& base,
                                         const std::vector<tune::PredictedLayout>& predicted, const tune::Duel& duel,
                                         const std::function<bool(const tune::Measurement&)>& wins) {
  std::vector<ChosenLayout> chosen;
  std::set<std::string> decided;
  Decisions best = base;
  int duels = 0;
  for (const tune::PredictedLayout& layout : predicted) {
    if (layout.margin < kLeastLayoutMargin || duels == kLayoutDuels) break;
    if (decided.contains(layout.decision.key)) continue;
    const Decisions candidate = tune::merged(best, {layout.decision});
    const tune::Measurement m = measurer.measure_program(candidate, best, duel);
    ++duels;
    if (!m.ok() || !wins(m)) continue;
    best = candidate;
    decided.insert(layout.decision.key);
    chosen.push_back({layout, m});
  }
  return chosen;
}

}  // namespace hone::optimize
