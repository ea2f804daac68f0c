// Modules, kernels and options as arrays of numbers.
#pragma once

#include <string>

#include "features/encoded.h"
#include "graph/hlo_graph.h"

namespace hone::features {

// Costs of a kernel by XLA's HloCostAnalysis.
struct KernelCosts {
  double flops = 0, bytes_read = 0, bytes_written = 0;
  double special_functions = 0;  // transcendental operations
};

// A kernel module: an ENTRY of parameters and one fusion, dot or convolution. The graph is the fused computation of a
// fusion, else the entry; edges run from producer to user, each pair once. Throws Error when the entry's root is a fusion
// without a computation.
EncodedKernel encode_kernel(const HloGraph& module, const KernelCosts& costs);

// The shape a tile divides: the entry's result, or its first element when it is a tuple.
Shape kernel_output(const HloGraph& module);

// An option of a kernel, written as in Decision::value: "default", "loop", "loop;slp=0", "tile=8,128",
// "loop;partitions=4", "eigen". `default_tile` ("8,128") is XLA's own tile when its tiled emitter is the default, else
// empty; it replaces "default". `kind` is the kernel's: fusion, dot or convolution. Throws Error for unknown
// options and tiles that are not positive.
EncodedTile encode_option(const Shape& output, const std::string& value, bool is_default,
                          const std::string& default_tile, const std::string& kind = "fusion");

// A whole module as the TpuGraphs data set encodes it.
struct EncodedGraph {
  std::vector<uint8_t> opcodes;      // [nodes]
  std::vector<float> node_features;  // [nodes, width]
  std::vector<int64_t> edge_index;   // [edges, 2]: user, operand (or a caller and the root of what it calls); sorted
  std::vector<int64_t> node_splits;  // 0, the end of every major computation, the number of nodes
  int width = 0;
};
// `width` features per node: kTpuGraphsFeatures (columns.h) for the data set's own, node_feature_count() for all.
EncodedGraph encode_graph(const HloGraph& module, int width);

}  // namespace hone::features
