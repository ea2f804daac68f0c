#include "sharding/mesh.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace hone::sharding {

namespace {

constexpr const char* kAxisNames[kMostAxes] = {"x", "y", "z", "w"};

Error bad_mesh(const std::string& text) {
  return Error(fmt::format("'{}' is no mesh", text), "--mesh",
               fmt::format("sizes of 1 to {} axes, as 8 or 2x4, with 2 to {} devices", kMostAxes, kMostDevices));
}

std::string axes_text(const Mesh& mesh, const std::vector<int>& axes) {
  if (axes.empty()) return "None";
  if (axes.size() == 1) return fmt::format("'{}'", mesh.axis_name(axes[0]));
  std::vector<std::string> names;
  for (int axis : axes) names.push_back(fmt::format("'{}'", mesh.axis_name(axis)));
  return fmt::format("({})", fmt::join(names, ", "));
}

}  // namespace

int Mesh::devices() const {
  int product = 1;
  for (int size : sizes) product *= size;
  return product;
}

const char* Mesh::axis_name(int axis) const { return kAxisNames[axis]; }

std::string Mesh::text() const { return fmt::format("{}", fmt::join(sizes, "x")); }

Mesh parse_mesh(const std::string& text) {
  Mesh mesh;
  int64_t devices = 1;
  const char* at = text.data();
  const char* end = text.data() + text.size();
  while (true) {
    int size = 0;
    const auto [next, failed] = std::from_chars(at, end, size);
    if (failed != std::errc() || size < 1 || mesh.axes() == kMostAxes) throw bad_mesh(text);
    mesh.sizes.push_back(size);
    devices *= size;
    if (devices > kMostDevices) throw bad_mesh(text);
    if (next == end) break;
    if (*next != 'x') throw bad_mesh(text);
    at = next + 1;
  }
  if (devices < 2) throw bad_mesh(text);
  return mesh;
}

int parts(const Mesh& mesh, const std::vector<int>& axes) {
  int product = 1;
  for (int axis : axes) product *= mesh.sizes[axis];
  return product;
}

bool is_replicated(const Spec& spec) {
  return std::all_of(spec.begin(), spec.end(), [](const auto& axes) { return axes.empty(); });
}

bool divides(const Mesh& mesh, const Spec& spec, const std::vector<int64_t>& dims) {
  for (size_t d = 0; d < spec.size(); ++d)
    if (!spec[d].empty() && (d >= dims.size() || dims[d] == 0 || dims[d] % parts(mesh, spec[d]) != 0)) return false;
  return true;
}

std::string hlo_sharding(const Mesh& mesh, const Spec& spec) {
  if (is_replicated(spec)) return "{replicated}";
  std::vector<int> tiles, order;
  for (const auto& axes : spec) {
    tiles.push_back(parts(mesh, axes));
    order.insert(order.end(), axes.begin(), axes.end());
  }
  int rest = 1;
  for (int axis = 0; axis < mesh.axes(); ++axis)
    if (std::find(order.begin(), order.end(), axis) == order.end()) {
      order.push_back(axis);
      rest *= mesh.sizes[axis];
    }
  if (rest > 1) tiles.push_back(rest);
  const std::string devices = std::is_sorted(order.begin(), order.end())
                                  ? fmt::format("[{}]", mesh.devices())
                                  : fmt::format("[{}]T({})", fmt::join(mesh.sizes, ","), fmt::join(order, ","));
  return fmt::format("{{devices=[{}]<={}{}}}", fmt::join(tiles, ","), devices,
                     rest > 1 ? " last_tile_dim_replicate" : "");
}

std::string partition_spec(const Mesh& mesh, const Spec& spec) {
  size_t length = spec.size();
  while (length > 0 && spec[length - 1].empty()) --length;
  std::vector<std::string> words;
  for (size_t d = 0; d < length; ++d) words.push_back(axes_text(mesh, spec[d]));
  if (words.size() == 1) return fmt::format("PartitionSpec({},)", words[0]);
  return fmt::format("PartitionSpec({})", fmt::join(words, ", "));
}

}  // namespace hone::sharding
