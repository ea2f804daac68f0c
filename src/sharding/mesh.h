// Devices as a grid with named axes, and how the dimensions of an array are divided along them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone::sharding {

struct Mesh {
  std::vector<int> sizes;  // of the axes, the last one fastest: device = (x * sizes[1] + y) * sizes[2] + z

  int devices() const;
  int axes() const { return static_cast<int>(sizes.size()); }
  const char* axis_name(int axis) const;  // "x", "y", "z", "w"
  std::string text() const;               // "2x4"
};

inline constexpr int kMostDevices = 64, kMostAxes = 4;

// "8", "2x4", "2x2x2". Throws Error (where = --mesh) for other text, more axes or more devices.
Mesh parse_mesh(const std::string& text);

// For each dimension of an array the axes that divide it, the outer one first. No axis divides two dimensions.
using Spec = std::vector<std::vector<int>>;

int parts(const Mesh& mesh, const std::vector<int>& axes);  // the product of their sizes
bool is_replicated(const Spec& spec);
// Whether each dimension has as many elements as parts, and divides into equal ones.
bool divides(const Mesh& mesh, const Spec& spec, const std::vector<int64_t>& dims);

// As HLO text writes it: "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}", "{replicated}".
std::string hlo_sharding(const Mesh& mesh, const Spec& spec);
// As Python code of jax.sharding: "PartitionSpec(None, 'y')", "PartitionSpec(('x', 'y'),)", "PartitionSpec()".
std::string partition_spec(const Mesh& mesh, const Spec& spec);

}  // namespace hone::sharding
