#include "graph/decision_family.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

namespace hone {
namespace {

constexpr std::array kFamilies = {
#define FAMILY(id, kind, prefix, infix, scope, stage, alone, transition, words, sentence, ...)                  \
  DecisionFamily{FamilyId::id, DecisionKind::kind, prefix, infix,   DecisionScope::scope, DecisionStage::stage, \
                 alone,        transition,         words,  sentence},
#include "graph/decision_families.def"
#undef FAMILY
};

bool has_key(const DecisionFamily& row, std::string_view key) {
  const std::string_view prefix = row.prefix;
  const bool begins = prefix.ends_with(':') ? key.starts_with(prefix) : key == prefix;
  return begins && key.find(row.infix) != std::string_view::npos;
}

}  // namespace

std::span<const DecisionFamily> decision_families() { return kFamilies; }

const DecisionFamily& family(FamilyId id) { return kFamilies.at(static_cast<size_t>(id)); }

const DecisionFamily* family_of(DecisionKind kind, const std::string& key) {
  for (const DecisionFamily& row : kFamilies)
    if (row.kind == kind && has_key(row, key)) return &row;
  return nullptr;
}

DecisionScope scope_of(DecisionKind kind, const std::string& key) {
  const DecisionFamily* found = family_of(kind, key);
  return found ? found->scope : decision_traits(kind).scope;
}

DecisionStage stage_of(DecisionKind kind, const std::string& key) {
  const DecisionFamily* found = family_of(kind, key);
  return found ? found->stage : decision_traits(kind).stage;
}

Decisions of_stage(const Decisions& decisions, DecisionStage stage) {
  Decisions result;
  std::copy_if(decisions.begin(), decisions.end(), std::back_inserter(result),
               [&](const Decision& d) { return stage_of(d.kind, d.key) == stage; });
  return result;
}

bool decides_kernel(DecisionKind kind, const std::string& key) { return scope_of(kind, key) == DecisionScope::Kernel; }

}  // namespace hone
