#include "tune/session/decision_list.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "graph/decision_family.h"

namespace hone::tune {

namespace {

bool same_subject(const Decision& a, const Decision& b) { return a.kind == b.kind && a.key == b.key; }

int promise(const Dimension& dimension) {
  switch (dimension.kind) {
    case DecisionKind::Weights:
      return 0;
    case DecisionKind::Library:
    case DecisionKind::Rewrite:
      return 1;
    case DecisionKind::Option:
      if (dimension.key.find("multi_output") != std::string::npos) return 2;
      return dimension.key.find("vector_width") != std::string::npos ? 3 : 4;
    default:
      return 5;
  }
}

}  // namespace

Decision as_decision(const Dimension& dimension, int option) {
  return {dimension.kind, dimension.key, dimension.options[option]};
}

Decisions with_option(const Decisions& base, const Dimension& dimension, int option) {
  const Decision decision = as_decision(dimension, option);
  Decisions result;
  bool overrides = false;  // a decision about all of the kind exists: the default must then be written out
  for (const Decision& d : base) {
    overrides = overrides || (d.kind == dimension.kind && d.key == kAll && dimension.key != kAll);
    if (!same_subject(d, decision)) result.push_back(d);
  }
  if (option != dimension.default_option || overrides) result.push_back(decision);
  std::sort(result.begin(), result.end());
  return result;
}

int current_option(const Decisions& decisions, const Dimension& dimension) {
  int current = dimension.default_option;
  for (const Decision& d : decisions) {
    if (d.kind != dimension.kind || (d.key != dimension.key && d.key != kAll)) continue;
    const auto at = std::find(dimension.options.begin(), dimension.options.end(), d.value);
    if (at == dimension.options.end()) continue;
    current = static_cast<int>(at - dimension.options.begin());
    if (d.key == dimension.key) break;
  }
  return current;
}

bool is_broad(const Dimension& dimension) {
  return dimension.key == kAll || scope_of(dimension.kind, dimension.key) == DecisionScope::Program;
}

bool is_single(const Dimension& dimension) { return decision_traits(dimension.kind).grouped && !is_broad(dimension); }

bool is_alone(const Dimension& dimension) {
  const DecisionFamily* family = family_of(dimension);
  return family && family->alone;
}

Decisions as_constants(const std::vector<int>& weights) {
  Decisions constants;
  for (const int number : weights) constants.push_back({DecisionKind::Weights, std::to_string(number), "constant"});
  return constants;
}

bool takes_constants(const Decisions& decisions) {
  return std::any_of(decisions.begin(), decisions.end(),
                     [](const Decision& d) { return d.kind == DecisionKind::Weights && d.value == "constant"; });
}

Kernel operation_alone(const Dimension& dimension, const Decisions& constants) {
  const DecisionFamily& family = *family_of(dimension);
  const size_t prefix = std::strlen(family.prefix);
  return {.fingerprint = dimension.key + (constants.empty() ? "" : " with constant weights"),
          .name = dimension.key.substr(prefix, dimension.key.find(':', prefix) - prefix),
          .kind = family.words,
          .count = dimension.count,
          .runs = static_cast<double>(dimension.count),
          .flops = dimension.weight / dimension.count,
          .dimension = dimension,
          .under = constants};
}

Decisions without_kernels(Decisions decisions) {
  std::erase_if(decisions, [](const Decision& d) { return d.kind == DecisionKind::Codegen; });
  return decisions;
}

Decisions outside(Decisions decisions, const Space& space) {
  std::erase_if(decisions, [&](const Decision& d) {
    return std::any_of(space.dimensions.begin(), space.dimensions.end(),
                       [&](const Dimension& dimension) { return dimension.kind == d.kind && dimension.key == d.key; });
  });
  return decisions;
}

Decisions within(Decisions decisions, const Space& space) {
  const Decisions others = outside(decisions, space);
  std::erase_if(decisions,
                [&](const Decision& d) { return std::find(others.begin(), others.end(), d) != others.end(); });
  return decisions;
}

MeasuredCost::MeasuredCost(const Space& space, Decisions base, Decisions baseline, Measure measure)
    : space_(space), base_(std::move(base)), baseline_(std::move(baseline)), measure_(std::move(measure)) {}

std::vector<double> MeasuredCost::costs(std::span<const Choice> choices) {
  std::vector<double> costs;
  for (const Choice& choice : choices) {
    const Decisions decisions = merged(base_, space_.decisions(choice));
    if (decisions == baseline_) {
      costs.push_back(1);
      continue;
    }
    const Measurement m = measure_(decisions);
    costs.push_back(m.ok() && m.ratio > 0 ? 1 / m.ratio : kFailed);
  }
  return costs;
}

Decisions merged(const Decisions& base, const Decisions& more) {
  Decisions result = more;
  for (const Decision& d : base)
    if (std::none_of(more.begin(), more.end(), [&](const Decision& other) { return same_subject(d, other); }))
      result.push_back(d);
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<Dimension> by_promise(std::vector<Dimension> dimensions) {
  std::erase_if(dimensions, [](const Dimension& d) { return d.options.size() < 2 || d.kind == DecisionKind::Fusion; });
  std::stable_sort(dimensions.begin(), dimensions.end(), [](const Dimension& a, const Dimension& b) {
    return std::pair(promise(a), -a.weight) < std::pair(promise(b), -b.weight);
  });
  return dimensions;
}

const std::string& value_of(const Decisions& decisions, const Kernel& kernel) {
  for (const Decision& d : decisions)
    if (d.kind == kernel.dimension.kind && d.key == kernel.dimension.key) return d.value;
  return kernel.default_value();
}

std::string in_words(const Decision& decision) {
  const bool fingerprint = decides_kernel(decision.kind, decision.key);
  return fmt::format("{} {} {}", decision_kind_name(decision.kind),
                     fingerprint ? decision.key.substr(0, 12) : decision.key, decision.value);
}

}  // namespace hone::tune
