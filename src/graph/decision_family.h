// What decisions are about and when they apply, told by kind and key: the rows of decisions.def, and for some keys those of
// decision_families.def. Single reductions, grouped convolutions and poolings are decided before there are kernels, dots and
// convolutions by the fingerprints of their kernels.
#pragma once

#include <span>
#include <string>

#include "graph/decision.h"

namespace hone {

enum class FamilyId : int8_t {
#define FAMILY(id, ...) id,
#include "graph/decision_families.def"
#undef FAMILY
};

// A row of decision_families.def.
struct DecisionFamily {
  FamilyId id;
  DecisionKind kind;
  const char* prefix;  // of its keys, or its one key where this does not end with a colon
  const char* infix;   // that the key holds; empty = any
  DecisionScope scope;
  DecisionStage stage;
  bool alone;              // a search measures such an operation by itself
  const char* transition;  // its name in calibrations; empty where none is calibrated
  const char* words;       // for people
  const char* sentence;    // pattern of a decision in a report
};

std::span<const DecisionFamily> decision_families();  // in the order of the table
const DecisionFamily& family(FamilyId id);
// The family of a key; null for keys of none.
const DecisionFamily* family_of(DecisionKind kind, const std::string& key);
inline const DecisionFamily* family_of(const Dimension& d) { return family_of(d.kind, d.key); }
inline const DecisionFamily* family_of(const Decision& d) { return family_of(d.kind, d.key); }
inline bool belongs_to(FamilyId id, DecisionKind kind, const std::string& key) {
  const DecisionFamily* found = family_of(kind, key);
  return found && found->id == id;
}

// What the key stands for and when the worker applies the decision: as its family says, else as its kind.
DecisionScope scope_of(DecisionKind kind, const std::string& key);
DecisionStage stage_of(DecisionKind kind, const std::string& key);
// Those that the worker applies at the stage, in their order.
Decisions of_stage(const Decisions& decisions, DecisionStage stage);

// The key is the fingerprint of a kernel of the lowered program.
bool decides_kernel(DecisionKind kind, const std::string& key);

// Values of a rewrite: XLA's own lowering of the operation, or elementwise operations on shifted slices of its input.
inline constexpr char kNotRewritten[] = "default";
inline constexpr char kShifted[] = "shifted";
// Value of a half-precision dot: it gives f32, which YNNPACK computes from bf16, and is rounded afterwards.
inline constexpr char kF32Result[] = "f32-result";
// The same with a second row of zeros, since YNNPACK takes no products of a single row with a matrix.
inline constexpr char kF32ResultOfTwoRows[] = "f32-result;rows=2";
// Value of a half-precision dot of a few rows: by a kernel that reads the matrix once, as it is stored.
inline constexpr char kFewRows[] = "few-rows";
// Values of a reduction: compiled and fused with its neighbours, or computed by YNNPACK.
inline constexpr char kCompiledReduction[] = "compiled";
inline constexpr char kYnnpackReduction[] = "ynn";

}  // namespace hone
