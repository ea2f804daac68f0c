#include "collect/tpu_tiles.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "features/encode.h"
#include "features/tpugraphs.h"
#include "graph/hlo_reader.h"
#include "graph/kernel_option.h"

namespace hone::collect {

namespace {

namespace fs = std::filesystem;
using Emitter = KernelOption::Emitter;

// From the slowest dimension in memory to the fastest.
std::vector<int64_t> physical_order(const Shape& output) {
  std::vector<int64_t> axes(output.dims.size());
  const bool known = output.minor_to_major.size() == axes.size();
  for (size_t i = 0; i < axes.size(); ++i)
    axes[i] = known ? output.minor_to_major[axes.size() - 1 - i] : static_cast<int64_t>(i);
  return axes;
}

// nullopt for an option that has no columns: a library, partitions, flags of the compiler.
std::optional<features::TileBounds> tile_bounds(const StoredKernel& kernel, int option, const Shape& output) {
  KernelOption of = KernelOption::parse(kernel.options[option]);
  if (option == kernel.default_option && of.tile.empty() && of.emitter != Emitter::Loop)
    of.tile = tile_from_text(kernel.default_tile);
  else if (option != kernel.default_option && (of.is_library() || of.emitter == Emitter::Default))
    return std::nullopt;
  if (!of.flags_text().empty()) return std::nullopt;
  features::TileBounds bounds;
  const size_t rank = output.dims.size();
  if (of.tile.empty()) return bounds;
  if (of.tile.size() < rank) return std::nullopt;
  const auto inside = static_cast<int64_t>(of.tile.size() - rank);
  bounds.kernel.assign(of.tile.begin(), of.tile.begin() + inside);
  for (int64_t axis : physical_order(output)) bounds.output.push_back(of.tile[inside + axis]);
  return bounds;
}

}  // namespace

std::optional<TpuGraph> tpu_tiles(const StoredKernel& kernel, const std::vector<Record>& rows) {
  features::TuningModule module;
  module.graph = read_hlo_graph(kernel.module_proto);
  const Shape output = features::kernel_output(module.graph);
  for (const auto& [option, ns] : tile_run_times(kernel, rows)) {
    const std::optional<features::TileBounds> bounds = tile_bounds(kernel, option, output);
    if (!bounds) continue;
    features::TuningRun run;
    run.tile = *bounds;
    run.is_default = option == kernel.default_option;
    run.runtime_ns = std::max<int64_t>(1, static_cast<int64_t>(ns + 0.5));
    module.runs.push_back(std::move(run));
  }
  if (module.runs.size() < 2) return std::nullopt;
  const std::string name = kernel.program + "_" + kernel.fingerprint;
  return tpu_graph_of(module, name, name);
}

TpuTilesReport export_tpu_tiles(const Database& database, const std::string& program, const std::string& folder,
                                const ExportOptions& options) {
  const MeasuredUnder under = measured_most(database, options);
  TpuTilesReport report;
  report.host = under.host;
  report.xla_version = under.xla_version;
  for (const StoredKernelSummary& summary : database.stored_kernels(options.threads, program)) {
    const std::vector<Record> rows =
        database.find_kernel(summary.fingerprint, under.host, options.threads, under.xla_version);
    if (rows.empty()) continue;
    const std::optional<StoredKernel> kernel = database.find_stored_kernel(summary.fingerprint, options.threads);
    std::optional<TpuGraph> graph;
    try {
      graph = tpu_tiles(*kernel, rows);
    } catch (const Error& e) {
      if (report.refused++ == 0) spdlog::warn("kernel {} is skipped: {}", summary.fingerprint, e.what());
      continue;
    }
    if (!graph) {
      ++report.left_out;
      continue;
    }
    std::error_code failed;
    fs::create_directories(folder, failed);
    if (failed) throw RunError("cannot make the folder: " + failed.message(), folder);
    report.files.push_back((fs::path(folder) / (graph->name + ".npz")).string());
    write_tpu_graph(report.files.back(), *graph);
    report.configurations += graph->configurations();
  }
  if (report.files.empty())
    throw Error(fmt::format("the database has no kernel of '{}' with two measured tiles", program), "",
                "measure them first: hone collect tile");
  return report;
}

}  // namespace hone::collect
