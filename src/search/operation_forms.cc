#include "search/operation_forms.h"

#include <algorithm>
#include <set>

#include "base/rng.h"
#include "graph/decision_family.h"

namespace hone {

namespace {

constexpr int kTries = 8;  // for each sample: a program with few forms has few distinct ones

bool has_other_forms(const Dimension& d) {
  const bool of_kind =
      d.kind == DecisionKind::Library || d.kind == DecisionKind::Rewrite || d.kind == DecisionKind::Option;
  return of_kind && !decides_kernel(d.kind, d.key) && d.options.size() > 1;
}

std::string family_words(const Dimension& d) {
  const DecisionFamily* family = family_of(d);
  return d.kind == DecisionKind::Option ? d.key : family ? family->words : decision_kind_name(d.kind);
}

Decisions random_forms(const std::vector<Dimension>& dimensions, Rng& rng) {
  Decisions decisions;
  for (const Dimension& d : dimensions) {
    if (!has_other_forms(d)) continue;
    if (rng.below(d.kind == DecisionKind::Option ? 4 : 2) != 0) continue;
    auto option = static_cast<int>(rng.below(d.options.size() - 1));
    option += option >= d.default_option;
    decisions.push_back({d.kind, d.key, d.options[option]});
  }
  std::sort(decisions.begin(), decisions.end());
  return decisions;
}

}  // namespace

std::vector<FormGroup> form_groups(const std::vector<Dimension>& dimensions) {
  std::vector<FormGroup> groups;
  for (const Dimension& d : dimensions) {
    if (!has_other_forms(d)) continue;
    const std::string family = family_words(d);
    for (int option = 0; option < static_cast<int>(d.options.size()); ++option) {
      if (option == d.default_option) continue;
      const std::string& value = d.options[option];
      const auto same = [&](const FormGroup& g) { return g.family == family && g.value == value; };
      auto group = std::find_if(groups.begin(), groups.end(), same);
      if (group == groups.end()) group = groups.insert(groups.end(), {family, value, {}});
      group->decisions.push_back({d.kind, d.key, value});
    }
  }
  for (FormGroup& group : groups) std::sort(group.decisions.begin(), group.decisions.end());
  std::stable_partition(groups.begin(), groups.end(), [](const FormGroup& group) {
    return scope_of(group.decisions.front().kind, group.decisions.front().key) == DecisionScope::Operation;
  });
  return groups;
}

std::vector<Decisions> sample_forms(const std::vector<Dimension>& dimensions, int count, uint64_t seed) {
  const auto wanted = static_cast<size_t>(std::max(count, 0));
  std::vector<Decisions> samples;
  std::set<Decisions> known{{}};
  const auto take = [&](Decisions decisions) {
    if (samples.size() < wanted && known.insert(decisions).second) samples.push_back(std::move(decisions));
  };
  for (FormGroup& group : form_groups(dimensions)) take(std::move(group.decisions));
  Rng rng(seed);
  for (size_t tries = kTries * wanted; tries > 0 && samples.size() < wanted; --tries)
    take(random_forms(dimensions, rng));
  return samples;
}

}  // namespace hone
