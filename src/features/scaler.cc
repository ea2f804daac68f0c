#include "features/scaler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_text.h"
#include "features/encoded.h"

namespace hone::features {
namespace {

constexpr float kLowest = -1, kHighest = 2;

float before_scaling(float value, Scale scale) {
  return scale == Scale::Linear ? value : std::copysign(std::log1p(std::fabs(value)), value);
}

const char* scale_name(Scale scale) { return scale == Scale::Log ? "log" : "linear"; }

Scale scale_from_name(const std::string& name) {
  if (name == "log") return Scale::Log;
  if (name == "linear") return Scale::Linear;
  throw Error("unknown scale \"" + name + "\"", "scaler");
}

void check_columns(const std::vector<Column>& found, const std::vector<Column>& expected) {
  if (expected.empty()) return;
  for (size_t i = 0; i < std::min(found.size(), expected.size()); ++i)
    if (found[i] != expected[i])
      throw Error("the scaler's column " + std::to_string(i) + " is " + found[i].name + " (" +
                      scale_name(found[i].scale) + "), this version's is " + expected[i].name + " (" +
                      scale_name(expected[i].scale) + ")",
                  "scaler", "use weights trained with this version");
  if (found.size() != expected.size())
    throw Error("the scaler has " + std::to_string(found.size()) + " columns, this version has " +
                    std::to_string(expected.size()),
                "scaler", "use weights trained with this version");
}

}  // namespace

Scaler::Scaler(std::vector<Column> columns)
    : columns_(std::move(columns)),
      min_(columns_.size(), std::numeric_limits<float>::max()),
      max_(columns_.size(), std::numeric_limits<float>::lowest()) {}

size_t Scaler::rows_in(size_t values) const {
  if (columns_.empty() || values % columns_.size() != 0)
    throw InternalError(std::to_string(values) + " values do not make rows of " + std::to_string(columns_.size()) +
                        " columns");
  return values / columns_.size();
}

void Scaler::fit(std::span<const float> rows) {
  const size_t width = columns_.size(), n = rows_in(rows.size());
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < width; ++j) {
      const float value = before_scaling(rows[i * width + j], columns_[j].scale);
      if (!std::isfinite(value)) throw Error("a feature is not finite", "column " + columns_[j].name);
      min_[j] = std::min(min_[j], value);
      max_[j] = std::max(max_[j], value);
    }
  fitted_ = fitted_ || n > 0;
}

void Scaler::apply(std::span<float> rows) const {
  if (!fitted_) throw InternalError("the scaler was never fitted");
  const size_t width = columns_.size(), n = rows_in(rows.size());
  for (size_t j = 0; j < width; ++j) {
    const float range = max_[j] - min_[j], low = min_[j];
    const Scale scale = columns_[j].scale;
    for (size_t i = 0; i < n; ++i) {
      float& value = rows[i * width + j];
      value = range > 0 ? std::clamp((before_scaling(value, scale) - low) / range, kLowest, kHighest) : 0;
    }
  }
}

std::string Scaler::to_json() const {
  nlohmann::json columns = nlohmann::json::array();
  for (size_t j = 0; j < columns_.size(); ++j) {
    nlohmann::json column = {{"name", columns_[j].name}, {"scale", scale_name(columns_[j].scale)}};
    if (fitted_) column.update({{"min", min_[j]}, {"max", max_[j]}});
    columns.push_back(std::move(column));
  }
  return nlohmann::json{{"feature_version", kFeatureVersion}, {"columns", std::move(columns)}}.dump();
}

Scaler Scaler::from_json(std::string_view text, const std::vector<Column>& expected) {
  try {
    const auto json = nlohmann::json::parse(shallow_json(text));
    if (const int version = json.at("feature_version"); version != kFeatureVersion)
      throw Error("the scaler has feature version " + std::to_string(version) + ", this program has " +
                      std::to_string(kFeatureVersion),
                  "scaler", "use weights trained with this version");
    std::vector<Column> columns;
    for (const auto& column : json.at("columns"))
      columns.push_back({column.at("name"), scale_from_name(column.at("scale"))});
    check_columns(columns, expected);
    Scaler out(std::move(columns));
    for (size_t j = 0; j < out.columns_.size(); ++j) {
      const auto& column = json["columns"][j];
      if (!column.contains("min")) return out;
      out.min_[j] = column.at("min");
      out.max_[j] = column.at("max");
      if (!(out.min_[j] <= out.max_[j])) throw Error("min is above max", "scaler column " + out.columns_[j].name);
    }
    out.fitted_ = !out.columns_.empty();
    return out;
  } catch (const nlohmann::json::exception& e) {
    throw Error(std::string("the scaler is broken: ") + e.what(), "scaler");
  }
}

}  // namespace hone::features
