#include "cost/operation_ranker.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/log.h"
#include "cost/shipped.h"
#include "features/machine_record.h"
#include "features/operation_features.h"

namespace hone::cost {
namespace {

constexpr char kFile[] = "operations.json";
constexpr double kDeviations = 2.563;  // between the two quantiles of a normal distribution

}  // namespace

std::string form_family(const std::string& form) { return form.substr(0, form.find_first_of("=;")); }

std::string corrected_family(const std::string& key, const std::string& form) {
  const std::optional<OperationSizes> sizes = operation_sizes(key);
  return sizes ? operation_family(*sizes) + (" " + form_family(form)) : "";
}

OperationRanker::OperationRanker(const std::string& path, int threads, const std::string& max_isa, bool or_similar)
    : cpu_(features::this_cpu(threads, max_isa)) {
  try {
    const nlohmann::json json = nlohmann::json::parse(shallow_json(read_file(path)));
    const auto names = json.at("features").get<std::vector<std::string>>();
    if (names != features::operation_feature_names()) throw Error("the model was trained with other features", path);
    for (const nlohmann::json& group : json.at("groups"))
      groups_.push_back({.families = group.at("families").get<std::set<std::string>>(),
                         .low = Trees::from_json(group.at("low"), names.size()),
                         .middle = Trees::from_json(group.at("middle"), names.size()),
                         .high = Trees::from_json(group.at("high"), names.size())});
    const std::string here = features::this_machine_class(threads, max_isa);
    // Bounds of a model of before, which says nothing of the least arithmetic, are not used.
    const nlohmann::json &corrections = json.at("corrections"), least = json.value("least_log_flops", nlohmann::json());
    if (least.is_null()) return;
    std::map<std::string, std::vector<std::string>> classes;  // that know a family
    for (const auto& [machine, of_families] : corrections.items())
      for (const auto& [family, correction] : of_families.items()) classes[family].push_back(machine);
    for (const auto& [family, known] : classes) {
      const std::string machine = or_similar ? features::most_similar_class(here, known).value_or(here) : here;
      if (!corrections.contains(machine) || !corrections.at(machine).contains(family)) continue;
      bounds_[family] = {corrections.at(machine).at(family).get<double>(), least.at(machine).at(family).get<double>()};
    }
  } catch (const nlohmann::json::exception& e) {
    throw Error(std::string("no model of operations: ") + e.what(), path);
  }
}

std::unique_ptr<OperationRanker> OperationRanker::open(const std::string& model, int threads,
                                                       const std::string& max_isa, const std::string& models,
                                                       bool or_similar) {
  if (model == "none") return nullptr;
  if (model != "shipped") return std::make_unique<OperationRanker>(model, threads, max_isa, or_similar);
  const std::string path = shipped_model(kFile, models);
  if (path.empty()) return nullptr;
  try {
    return std::make_unique<OperationRanker>(path, threads, max_isa, or_similar);
  } catch (const Error& e) {
    spdlog::warn("no model of operations: {}", e.what());
    return nullptr;
  }
}

std::optional<OperationRanker::Gain> OperationRanker::gain(const Kernel& operation, const std::string& form) const {
  const auto [known, is_new] = known_.try_emplace({operation.fingerprint, form});
  if (is_new) known->second = predict(operation, form);
  return known->second;
}

std::optional<OperationRanker::Gain> OperationRanker::predict(const Kernel& operation, const std::string& form) const {
  const std::optional<OperationSizes> sizes = operation_sizes(operation.dimension.key);
  if (!sizes) return std::nullopt;
  const features::WeightsUse use{.constant = !operation.under.empty(),
                                 .declared = !operation.dimension.weights.empty()};
  const auto features = features::operation_features(*sizes, use, form, cpu_);
  const auto group = std::find_if(groups_.begin(), groups_.end(), [family = operation_family(*sizes)](const Group& g) {
    return g.families.empty() || g.families.contains(family);
  });
  if (!features || group == groups_.end()) return std::nullopt;
  return Gain{group->low.predict(*features), group->middle.predict(*features), group->high.predict(*features)};
}

std::optional<double> OperationRanker::sure_gain(const Kernel& operation, const std::string& form) const {
  const std::string& key = operation.dimension.key;
  const auto bound = bounds_.find(corrected_family(key, form));
  if (bound == bounds_.end()) return std::nullopt;
  if (std::log2(1 + std::max(0.0, operation_sizes(key)->flops())) < bound->second.least_log_flops) return std::nullopt;
  const std::optional<Gain> predicted = gain(operation, form);
  return predicted ? std::optional(predicted->low + bound->second.correction) : std::nullopt;
}

std::vector<double> OperationRanker::scores(const Kernel& operation, const std::vector<std::string>& forms) {
  return rank(operation, forms).scores;
}

RankedScores OperationRanker::rank(const Kernel& operation, const std::vector<std::string>& forms) {
  RankedScores ranked{.log_ratios = true};
  for (const std::string& form : forms) {
    const bool own = form == operation.default_value();
    const std::optional<Gain> predicted = own ? Gain() : gain(operation, form);
    if (!predicted) throw Error("no prediction for this form of the operation", form);
    ranked.scores.push_back(-predicted->middle);
    ranked.spreads.push_back(std::max(0.0, predicted->high - predicted->low) / kDeviations);
  }
  return ranked;
}

}  // namespace hone::cost
