// The three scalers of a network's inputs, fitted on training data and stored with the weights.
#pragma once

#include <nlohmann/json.hpp>

#include "data/dataset.h"
#include "features/scaler.h"
#include "options/model_options.h"

namespace hone::cost {

struct FeatureScale {
  features::Scaler node, static_, tile;  // tile: of all features of an option
  bool demand = false;
  explicit FeatureScale(bool demand = false);  // this program's columns, not fitted
  void fit(const KernelView& kernel);
  options::FeatureWidths widths() const;
  bool operator==(const FeatureScale&) const = default;
};

// Unscaled input rows of options: [options, widths.option()] for [options, widths.tile].
std::vector<float> option_rows(const KernelView& kernel, std::span<const float> tiles,
                               const options::FeatureWidths& widths);

nlohmann::json to_json(const FeatureScale& scale);
// Throws Error for columns of another version.
FeatureScale feature_scale_from_json(const nlohmann::json& json, bool demand);

}  // namespace hone::cost
