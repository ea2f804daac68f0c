#include "optimize/layouts.h"

#include "graph/layout_choice.h"

namespace hone::optimize {

std::vector<DuelCandidate> layout_candidates(const std::vector<tune::PredictedLayout>& predicted) {
  std::vector<DuelCandidate> candidates;
  for (const tune::PredictedLayout& layout : predicted) {
    if (layout.margin < kLeastLayoutMargin) break;
    candidates.push_back({layout.decision, "layout", kDefaultLayout, layout.margin});
  }
  return candidates;
}

}  // namespace hone::optimize
