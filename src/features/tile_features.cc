#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "features/columns.h"
#include "features/encode.h"

namespace hone::features {
namespace {

// An option taken apart.
struct Option {
  std::vector<int64_t> tile;
  std::string_view library;
  bool is_default = false, loop = false, no_unroll = false, no_slp = false, small_code = false;
  int64_t partitions = 0;
  // Of the tile in its output.
  double tiles = 0, tile_bytes = 0, wasted = 0;
  int64_t minor = 0;
  bool covers_minor = false;
};

int64_t positive(std::string_view text, const std::string& value) {
  int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size() || number <= 0)
    throw Error("\"" + std::string(text) + "\" is no positive number", "option " + value);
  return number;
}

std::vector<int64_t> numbers(std::string_view text, const std::string& value) {
  std::vector<int64_t> out;
  while (true) {
    const size_t comma = text.find(',');
    out.push_back(positive(text.substr(0, comma), value));
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

void take_word(std::string_view word, const std::string& value, Option& t) {
  if (word == "default") return;
  if (word == "loop")
    t.loop = true;
  else if (word == "unroll=0")
    t.no_unroll = true;
  else if (word == "slp=0")
    t.no_slp = true;
  else if (word == "size=1")
    t.small_code = true;
  else if (word == "eigen" || word == "ynn" || word == "llvm" || word == "naive")
    t.library = word;
  else if (word.starts_with("tile="))
    t.tile = numbers(word.substr(5), value);
  else if (word.starts_with("partitions="))
    t.partitions = positive(word.substr(11), value);
  else
    throw Error("\"" + std::string(word) + "\" is no option of a kernel", "option " + value);
}

// A tile has one size per output dimension; what XLA lists before them are sizes inside the kernel (reductions).
void measure_tile(const Shape& output, Option& t) {
  const size_t rank = output.dims.size();
  if (t.tile.empty() || t.tile.size() < rank) return;
  const int64_t* sizes = t.tile.data() + (t.tile.size() - rank);
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
  for (std::string_view rest = value; !rest.empty();) {
    const size_t end = rest.find(';');
    take_word(rest.substr(0, end), value, t);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  // The default spelled out, so that equal code looks equal.
  const bool own_emitter = kind == "fusion" && !t.loop && t.tile.empty();
  if (own_emitter && !default_tile.empty())
    t.tile = numbers(default_tile, "default tile " + default_tile);
  else if (own_emitter)
    t.loop = true;
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
