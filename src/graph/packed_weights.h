// Weights that YNNPACK packs once, and not whenever a dot reads them: a value of decisions about weights.
#pragma once

#include "graph/decision.h"

namespace hone {

inline constexpr char kPackedWeights[] = "packed";

inline bool packs_weights(const Decision& d) { return d.kind == DecisionKind::Weights && d.value == kPackedWeights; }

}  // namespace hone
