// The three scalers a network's inputs go through, fitted on training data and stored with the weights.
#pragma once

#include <nlohmann/json.hpp>

#include "data/dataset.h"
#include "features/scaler.h"
#include "options/model_options.h"

namespace hone::cost {

struct FeatureScale {
  features::Scaler node, static_, tile;  // tile: of all that comes with an option
  bool demand = false;
  explicit FeatureScale(bool demand = false);  // this program's columns, not fitted
  void fit(const KernelView& kernel);
  options::FeatureWidths widths() const;
  bool operator==(const FeatureScale&) const = default;
};

// Rows of options as networks read them, unscaled: [options, widths.option()] for [options, widths.tile].
std::vector<float> option_rows(const KernelView& kernel, std::span<const float> tiles,
                               const options::FeatureWidths& widths);

nlohmann::json to_json(const FeatureScale& scale);
// Throws Error for columns that are not this program's.
FeatureScale feature_scale_from_json(const nlohmann::json& json, bool demand);

}  // namespace hone::cost
