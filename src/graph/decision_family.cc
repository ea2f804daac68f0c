#include "graph/decision_family.h"

#include <array>

#include "base/error.h"

namespace hone {
namespace {

constexpr std::array kFamilies = {
#define FAMILY(id, kind, prefix, infix, stage, broad, word, words) \
  DecisionFamily{FamilyId::id, DecisionKind::kind, prefix, infix, DecisionStage::stage, broad, word, words},
#include "graph/decision_families.def"
#undef FAMILY
};

}  // namespace

std::span<const DecisionFamily> decision_families() { return kFamilies; }

const DecisionFamily& family(FamilyId id) { return kFamilies.at(static_cast<size_t>(id)); }

const DecisionFamily* family_of(DecisionKind kind, const std::string& key) {
  for (const DecisionFamily& row : kFamilies) {
    const bool begins = row.id == FamilyId::ProgramLibrary ? key == row.prefix : key.starts_with(row.prefix);
    if (row.kind == kind && begins && key.find(row.infix) != std::string::npos) return &row;
  }
  return nullptr;
}

bool decides_kernel(DecisionKind kind, const std::string& key) {
  return kind == DecisionKind::Codegen || belongs_to(FamilyId::KernelLibrary, kind, key);
}

}  // namespace hone
