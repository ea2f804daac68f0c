// Columns of the feature tables: their names, and how each is scaled before training.
#pragma once

#include <string>
#include <vector>

namespace hone::features {

// How a value is transformed before min-max scaling. Log: sign(x) log(1 + |x|), for sizes that span orders of magnitude.
enum class Scale : int8_t { Linear = 0, Log };

struct Column {
  std::string name;  // "shape_dims_0", "shape_dims_sum", ...
  Scale scale{};
  bool operator==(const Column&) const = default;
};

// In the order of the arrays; each has as many entries as its row is wide (node_feature_count() and so on).
const std::vector<Column>& node_columns();
const std::vector<Column>& static_columns();
const std::vector<Column>& tile_columns();
const std::vector<Column>& cpu_columns();
int column_index(const std::vector<Column>& columns, const std::string& name);  // throws InternalError

// The first kTpuGraphsFeatures node columns are those of the TpuGraphs data set, in its order.
inline constexpr int kTpuGraphsFeatures = 140;

}  // namespace hone::features
