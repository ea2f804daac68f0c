// The features of one kernel as flat, unscaled arrays. Produced by encode_kernel (encode.h), stored in data sets, scaled
// by a Scaler fitted on training data.
#pragma once

#include <cstdint>
#include <vector>

namespace hone::features {

// Widths of the arrays; the meaning of every column is in node_features.def, static_features.def, tile_features.def.
// kFeatureVersion changes whenever any of them does; weights and data sets record it.
inline constexpr int kFeatureVersion = 1;

struct EncodedKernel {
  std::vector<uint8_t> opcodes;        // [nodes], TpuGraphs numbers (opcodes.def), 0 = unknown
  std::vector<float> node_features;    // [nodes, node_feature_count()]
  std::vector<int32_t> edge_from;      // [edges], producer
  std::vector<int32_t> edge_to;        // [edges], its user
  std::vector<float> static_features;  // [static_feature_count()]: FLOPs, bytes read, bytes written, special functions
  int64_t nodes() const { return static_cast<int64_t>(opcodes.size()); }
};

// One option of a kernel ("default", "loop;slp=0", "tile=8,8") as numbers.
using EncodedTile = std::vector<float>;  // [tile_feature_count()]

int node_feature_count();
int static_feature_count();
int tile_feature_count();

}  // namespace hone::features
