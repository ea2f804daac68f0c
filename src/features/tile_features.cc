#include <algorithm>
#include <cmath>

#include "features/columns.h"
#include "features/encode.h"
#include "graph/kernel_option.h"

namespace hone::features {
namespace {

using Emitter = KernelOption::Emitter;

// An option with defaults made explicit, and its tile in relation to the kernel's output.
struct Option {
  KernelOption of;
  bool is_default = false;
  double tiles = 0, tile_bytes = 0, wasted = 0;
  int64_t minor = 0;
  bool covers_minor = false;
};

// The last sizes are those of the output's dimensions; XLA lists sizes inside the kernel (reductions) before them.
void measure_tile(const Shape& output, Option& t) {
  const size_t rank = output.dims.size();
  if (t.of.tile.empty() || t.of.tile.size() < rank) return;
  const int64_t* sizes = t.of.tile.data() + (t.of.tile.size() - rank);
  double covered = 1, elements = 1;
  t.tiles = 1;
  for (size_t i = 0; i < rank; ++i) {
    const double count = std::ceil(static_cast<double>(output.dims[i]) / static_cast<double>(sizes[i]));
    t.tiles *= count;
    elements *= static_cast<double>(sizes[i]);
    covered *= count * static_cast<double>(sizes[i]);
  }
  t.tile_bytes = elements * static_cast<double>(Shape{output.element_type, {}, {}, {}}.bytes());
  if (covered > 0) t.wasted = 1 - static_cast<double>(output.elements()) / covered;
  if (rank == 0) return;
  const int64_t axis = output.minor_to_major.size() == rank ? output.minor_to_major[0] : static_cast<int64_t>(rank) - 1;
  if (axis < 0 || axis >= static_cast<int64_t>(rank)) return;
  t.minor = sizes[axis];
  t.covers_minor = sizes[axis] >= output.dims[axis];
}

Option parse(const Shape& output, const std::string& value, bool is_default, const std::string& default_tile,
             const std::string& kind) {
  Option t;
  t.is_default = is_default;
  t.of = KernelOption::parse(value);
  // The default is made explicit, so that equal code has equal features.
  if (kind == "fusion" && t.of.emitter != Emitter::Loop && t.of.tile.empty()) {
    t.of.tile = tile_from_text(default_tile);
    if (default_tile.empty()) t.of.emitter = Emitter::Loop;
  }
  measure_tile(output, t);
  return t;
}

void add_list(const std::vector<int64_t>& values, size_t width, EncodedTile& out) {
  double sum = 0, product = values.empty() ? 0 : 1;
  for (size_t i = 0; i < width; ++i) out.push_back(i < values.size() ? static_cast<float>(values[i]) : 0.0f);
  for (int64_t value : values) {
    sum += static_cast<double>(value);
    product *= static_cast<double>(value);
  }
  out.push_back(static_cast<float>(sum));
  out.push_back(static_cast<float>(product));
}

}  // namespace

const std::vector<Column>& tile_columns() {
  static const std::vector<Column> columns = [] {
    std::vector<Column> out;
#define NUMBER(name, scale, value) out.push_back({#name, Scale::scale});
#define LIST(name, width, scale, values)                                                                     \
  for (int i = 0; i < width; ++i) out.push_back({std::string(#name "_") + std::to_string(i), Scale::scale}); \
  out.push_back({#name "_sum", Scale::scale});                                                               \
  out.push_back({#name "_product", Scale::scale});
#include "features/tile_features.def"
#undef NUMBER
#undef LIST
    return out;
  }();
  return columns;
}

int tile_feature_count() { return static_cast<int>(tile_columns().size()); }

EncodedTile encode_option(const Shape& output, const std::string& value, bool is_default,
                          const std::string& default_tile, const std::string& kind) {
  const Option t = parse(output, value, is_default, default_tile, kind);
  EncodedTile out;
  out.reserve(tile_feature_count());
#define NUMBER(name, scale, value) out.push_back(static_cast<float>(value));
#define LIST(name, width, scale, values) add_list(values, width, out);
#include "features/tile_features.def"
#undef NUMBER
#undef LIST
  return out;
}

}  // namespace hone::features
