// The operations that library and rewrite decisions apply to, by their keys (decision_families.def). Single reductions, grouped
// convolutions and poolings are decided before kernels exist; dots and convolutions by the fingerprints of their kernels.
#pragma once

#include <span>
#include <string>

#include "graph/decision.h"

namespace hone {

enum class FamilyId : int8_t {
#define FAMILY(id, kind, prefix, infix, stage, broad, word, words) id,
#include "graph/decision_families.def"
#undef FAMILY
};

struct DecisionFamily {
  FamilyId id;
  DecisionKind kind;
  const char* prefix;  // of the key
  const char* infix;   // contained in the key; empty = any
  DecisionStage stage;
  bool broad;         // one decision about the whole program
  const char* word;   // name of its transition in calibrations; empty where none is calibrated
  const char* words;  // for people
};

std::span<const DecisionFamily> decision_families();  // in the order of the table
const DecisionFamily& family(FamilyId id);
// The family of a key; null for kinds that have no families.
const DecisionFamily* family_of(DecisionKind kind, const std::string& key);
inline const DecisionFamily* family_of(const Dimension& d) { return family_of(d.kind, d.key); }
inline const DecisionFamily* family_of(const Decision& d) { return family_of(d.kind, d.key); }
inline bool belongs_to(FamilyId id, DecisionKind kind, const std::string& key) {
  const DecisionFamily* found = family_of(kind, key);
  return found && found->id == id;
}

// The key is the fingerprint of a kernel of the lowered program.
bool decides_kernel(DecisionKind kind, const std::string& key);

// Values of a rewrite: XLA's own lowering of the operation, or elementwise operations on shifted slices of its input.
inline constexpr char kNotRewritten[] = "default";
inline constexpr char kShifted[] = "shifted";
// Values of a reduction: compiled and fused with its neighbours, or computed by YNNPACK.
inline constexpr char kCompiledReduction[] = "compiled";
inline constexpr char kYnnpackReduction[] = "ynn";

}  // namespace hone
