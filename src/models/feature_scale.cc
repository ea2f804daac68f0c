#include "models/feature_scale.h"

#include "base/error.h"

namespace hone::models {

FeatureScale::FeatureScale()
    : node(features::node_columns()), static_(features::static_columns()), tile(features::tile_columns()) {}

void FeatureScale::fit(const KernelView& kernel) {
  node.fit(kernel.node_features);
  static_.fit(kernel.static_features);
  tile.fit(kernel.tiles);
}

nlohmann::json to_json(const FeatureScale& scale) {
  return {{"node", nlohmann::json::parse(scale.node.to_json())},
          {"static", nlohmann::json::parse(scale.static_.to_json())},
          {"tile", nlohmann::json::parse(scale.tile.to_json())}};
}

FeatureScale feature_scale_from_json(const nlohmann::json& json) {
  const auto part = [&](const char* name, const std::vector<features::Column>& columns) {
    const auto found = json.find(name);
    if (found == json.end()) throw Error(std::string("the scaler has no part ") + name);
    return features::Scaler::from_json(found->dump(), columns);
  };
  FeatureScale scale;
  scale.node = part("node", features::node_columns());
  scale.static_ = part("static", features::static_columns());
  scale.tile = part("tile", features::tile_columns());
  return scale;
}

}  // namespace hone::models
