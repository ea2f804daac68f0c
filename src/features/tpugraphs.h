// The TpuGraphs data set's own files: modules with their measured configurations (tpu_graphs/proto/tuning.proto).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "features/encode.h"
#include "graph/hlo_graph.h"

namespace hone::features {

// Bounds of a tiled loop nest; lists may be empty.
struct TileBounds {
  std::vector<int64_t> kernel, output, input, iteration;
};

// One configuration and its run. Either `tile` or `layouts` is used.
struct TuningRun {
  TileBounds tile;
  // [configurable nodes][output, input, kernel]: minor-to-major of each tensor; empty = the compiler's default.
  std::vector<std::vector<std::vector<int64_t>>> layouts;
  bool failed = false;  // no run time
  bool is_default = false;
  int64_t runtime_ns = 0;  // compute and transfer
};

struct TuningModule {
  HloGraph graph;
  uint64_t fingerprint = 0;
  std::vector<TuningRun> runs;
  std::vector<int64_t> configurable;  // node of each entry of TuningRun::layouts; empty for tiles
};

// A TuningData file (many modules) or a ModuleTuningData file (one), told apart by content. Throws Error for bytes that
// are neither, and the errors of read_hlo_graph.
std::vector<TuningModule> read_tuning_data(std::string_view bytes);

// The data set's configuration features: 24 of a tile (kernel, output and input bounds: 6, sum, product each; the product
// of an empty list is 0), 18 per configurable node of a layout (6 axes of output, input and kernel, padded with -1).
std::vector<float> encode_tile_config(const TileBounds& tile);
std::vector<float> encode_layout_config(const TuningRun& run);  // [configurable nodes, 18]

// The graph of a kernel module as the tile collection has it: the fused computation of the entry's root, or the entry
// where the root is not a fusion; 140 features per node, no splits. Throws Error for a fusion without a computation.
EncodedGraph encode_tile_graph(const HloGraph& module);

}  // namespace hone::features
