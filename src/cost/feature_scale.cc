#include "cost/feature_scale.h"

#include "base/error.h"
#include "cost/analytical.h"

namespace hone::cost {

namespace {

std::vector<features::Column> option_columns(bool demand) {
  std::vector<features::Column> columns = features::tile_columns();
  if (demand) columns.insert(columns.end(), demand_columns().begin(), demand_columns().end());
  return columns;
}

}  // namespace

FeatureScale::FeatureScale(bool with_demand)
    : node(features::node_columns()),
      static_(features::static_columns()),
      tile(option_columns(with_demand)),
      demand(with_demand) {}

options::FeatureWidths FeatureScale::widths() const {
  const int64_t counted = demand ? static_cast<int64_t>(demand_columns().size()) : 0;
  return {node.columns(), static_.columns(), tile.columns() - counted, counted};
}

std::vector<float> option_rows(const KernelView& kernel, std::span<const float> tiles,
                               const options::FeatureWidths& widths) {
  if (widths.demand == 0) return {tiles.begin(), tiles.end()};
  static const features::Cpu cpu = features::this_cpu(1);
  const std::vector<float> demand = demand_rows(kernel, tiles, cpu);
  std::vector<float> rows;
  rows.reserve(tiles.size() + demand.size());
  for (size_t tile = 0, counted = 0; tile < tiles.size(); tile += widths.tile, counted += widths.demand) {
    rows.insert(rows.end(), tiles.begin() + tile, tiles.begin() + tile + widths.tile);
    rows.insert(rows.end(), demand.begin() + counted, demand.begin() + counted + widths.demand);
  }
  return rows;
}

void FeatureScale::fit(const KernelView& kernel) {
  node.fit(kernel.node_features);
  static_.fit(kernel.static_features);
  tile.fit(option_rows(kernel, kernel.tiles, widths()));
}

nlohmann::json to_json(const FeatureScale& scale) {
  return {{"node", nlohmann::json::parse(scale.node.to_json())},
          {"static", nlohmann::json::parse(scale.static_.to_json())},
          {"tile", nlohmann::json::parse(scale.tile.to_json())}};
}

FeatureScale feature_scale_from_json(const nlohmann::json& json, bool demand) {
  const auto part = [&](const char* name, const std::vector<features::Column>& columns) {
    const auto found = json.find(name);
    if (found == json.end()) throw Error(std::string("the scaler lacks the part ") + name);
    return features::Scaler::from_json(found->dump(), columns);
  };
  FeatureScale scale(demand);
  scale.node = part("node", features::node_columns());
  scale.static_ = part("static", features::static_columns());
  scale.tile = part("tile", option_columns(demand));
  return scale;
}

}  // namespace hone::cost
