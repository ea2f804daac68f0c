// Measured kernels as files of the TpuGraphs tile collection.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collect/collect.h"
#include "data/tpugraphs.h"

namespace hone::collect {

// A kernel with those of its measured options that the data set's 24 columns can tell apart: XLA's own, its loops without a tile (all
// 0) and its tiles. Output bounds are the tile's sizes of the output's dimensions, from the slowest in memory to the fastest, as in
// the data set, in elements; kernel bounds are the sizes inside (reductions); there are no input bounds. `rows`: measurements of
// the kernel under equal conditions. nullopt if fewer than two such options were measured. Throws Error for a kernel that cannot
// be encoded, for example with an opcode that the data set does not have.
std::optional<TpuGraph> tpu_tiles(const StoredKernel& kernel, const std::vector<Record>& rows);

struct TpuTilesReport {
  std::string host, xla_version;
  int64_t configurations = 0;
  int64_t left_out = 0;  // kernels with fewer than two measured options that the columns can tell apart
  int64_t refused = 0;   // kernels that cannot be encoded; the first reason is logged
  std::vector<std::string> files;
};
// FOLDER/PROGRAM_FINGERPRINT.npz for each kernel of the program, which `hone collect tile` measured. Throws Error when the database
// has no such kernel.
TpuTilesReport export_tpu_tiles(const Database& database, const std::string& program, const std::string& folder,
                                const ExportOptions& options);

}  // namespace hone::collect
