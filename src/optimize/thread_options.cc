#include "optimize/thread_options.h"

#include <algorithm>

#include "graph/program_option.h"

namespace hone::optimize {

std::vector<DuelCandidate> thread_candidates(const std::vector<Dimension>& dimensions) {
  std::vector<DuelCandidate> candidates;
  for (const char* key : {kWaitPolicy, kIntraOpThreads}) {
    const auto d = std::find_if(dimensions.begin(), dimensions.end(),
                                [&](const Dimension& of) { return of.kind == DecisionKind::Option && of.key == key; });
    if (d == dimensions.end()) continue;
    for (size_t i = 0; i < d->options.size(); ++i)
      if (static_cast<int>(i) != d->default_option)
        candidates.push_back({{d->kind, d->key, d->options[i]}, "threads", d->options[d->default_option]});
  }
  return candidates;
}

}  // namespace hone::optimize
