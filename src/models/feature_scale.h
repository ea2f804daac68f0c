// The three scalers a network's inputs go through, fitted on training data and stored with the weights.
#pragma once

#include <nlohmann/json.hpp>

#include "data/dataset.h"
#include "features/scaler.h"
#include "models/model_options.h"

namespace hone::models {

struct FeatureScale {
  features::Scaler node, static_, tile;
  FeatureScale();  // this program's columns, not fitted
  void fit(const KernelView& kernel);
  FeatureWidths widths() const { return {node.columns(), static_.columns(), tile.columns()}; }
  bool operator==(const FeatureScale&) const = default;
};

nlohmann::json to_json(const FeatureScale& scale);
FeatureScale feature_scale_from_json(
    const nlohmann::json& json);  // throws Error for columns that are not this program's

}  // namespace hone::models
