// Files of layout graphs: TpuGraphs' own .npz, and a packed form that is memory-mapped.
#pragma once

#include <string>
#include <vector>

#include "options/config_graph.h"

namespace hone::options {

// Reads a TpuGraphs file of layouts or tiles (data/tpugraphs.h). Layouts are packed while the archive is read, so
// 18 axes take 8 bytes of memory. Run times that are all 0, as in the public test files, count as not measured.
// Tiles: a run time is its ratio to its default's, times the first default's. Throws the errors of stream_layout_graph,
// read_tpu_graph and check().
ConfigGraph read_layout_npz(const std::string& path);

// The packed form: a safetensors file of the same arrays, configs [c, nc] as I64. Opening it maps the configurations.
// Throw RunError if it cannot be written, Error if it is not such a file.
void write_packed_layouts(const std::string& path, const ConfigGraph& graph);
ConfigGraph open_packed_layouts(const std::string& path);

// A file or all .npz and .layouts files below a folder, by path; graphs are named after their path in it. With a cache
// folder each .npz is packed into it once (again if it is newer) and mapped from there. Throws Error for a folder without
// such files.
std::vector<ConfigGraph> read_layout_data(const std::string& path, const std::string& cache_dir = "");

}  // namespace hone::options
