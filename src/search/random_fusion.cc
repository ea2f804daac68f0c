#include "search/random_fusion.h"

#include <algorithm>

#include "base/rng.h"
#include "base/text.h"

namespace hone {

Decisions random_fusion(const std::vector<Dimension>& edges, const std::string& program, int configuration,
                        uint64_t seed) {
  Rng rng(hash64(program + "/" + std::to_string(configuration)) ^ (seed * 0x9e3779b97f4a7c15ull));
  rng();
  const double share =
      rng.uniform() * rng.uniform();  // few decided edges are more likely than many, so kernels stay similar to XLA's
  Decisions decisions;
  for (const Dimension& edge : edges) {
    const bool decided = rng.uniform() < std::max(share, 1.5 / static_cast<double>(edges.size()));
    const bool coin = rng.below(2) == 1;
    if (!decided || edge.options.size() < 2) continue;
    const int option = coin ? (edge.default_option + 1) % static_cast<int>(edge.options.size()) : edge.default_option;
    if (option != edge.default_option) decisions.push_back({DecisionKind::Fusion, edge.key, edge.options[option]});
  }
  std::sort(decisions.begin(), decisions.end());
  return decisions;
}

}  // namespace hone
