// Keys of library decisions that are no kernel fingerprints.
#pragma once

#include "graph/decision.h"

namespace hone {

// One choice for every dot, convolution and reduction of the program.
inline constexpr char kProgramLibraryKey[] = "program";

// Reductions of one shape, which XLA hands to YNNPACK or compiles (and then fuses with their neighbours) before there are
// kernels: "reduce:add:f32[8,512]->f32[8]:1", value "compiled" | "ynnpack".
inline constexpr char kReduceKeyPrefix[] = "reduce:";

inline bool is_reduction(DecisionKind kind, const std::string& key) {
  return kind == DecisionKind::Library && key.rfind(kReduceKeyPrefix, 0) == 0;
}

}  // namespace hone
