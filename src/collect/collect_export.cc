// Exports the database to a data set.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/json_text.h"
#include "base/stats.h"
#include "collect/collect.h"
#include "data/dataset.h"
#include "features/encode.h"
#include "graph/hlo_reader.h"

namespace hone::collect {

namespace {

using Runtimes = std::map<int, double>;  // as of tile_run_times()

Runtimes fusion_runtimes(const StoredKernel& kernel, const std::vector<Record>& rows, double core_ns) {
  const std::optional<double> ns = default_run_time(rows, kernel.options[kernel.default_option], core_ns);
  return ns ? Runtimes{{kernel.default_option, *ns}} : Runtimes{};
}

void write_kernel(const StoredKernel& kernel, const Runtimes& runtimes, DatasetWriter& writer) {
  const HloGraph module = read_hlo_graph(kernel.module_proto);
  const features::EncodedKernel encoded =
      features::encode_kernel(module, {.flops = kernel.flops,
                                       .bytes_read = kernel.bytes_read,
                                       .bytes_written = kernel.bytes_written,
                                       .special_functions = kernel.transcendentals});
  const Shape output = features::kernel_output(module);
  std::vector<float> tiles;
  std::vector<double> runtime_ns;
  KernelView view;
  for (const auto& [option, ns] : runtimes) {
    const bool is_default = option == kernel.default_option;
    const features::EncodedTile tile =
        features::encode_option(output, kernel.options[option], is_default, kernel.default_tile, kernel.kind);
    tiles.insert(tiles.end(), tile.begin(), tile.end());
    if (is_default) view.default_option = static_cast<int32_t>(runtime_ns.size());
    runtime_ns.push_back(ns);
  }
  view.fingerprint = kernel.fingerprint;
  view.program = kernel.program;
  view.family = kernel.family;
  view.kind = kernel.kind;
  view.opcodes = encoded.opcodes;
  view.node_features = encoded.node_features;
  view.static_features = encoded.static_features;
  view.edge_from = encoded.edge_from;
  view.edge_to = encoded.edge_to;
  view.tiles = tiles;
  view.runtime_ns = runtime_ns;
  writer.add(view);
}

}  // namespace

std::map<int, double> tile_run_times(const StoredKernel& kernel, const std::vector<Record>& rows) {
  std::vector<double> baselines;
  std::map<int, std::vector<double>> ratios;
  for (const Record& row : rows) {
    if (row.status != "ok") continue;
    baselines.push_back(row.baseline_ns);
    const auto option = std::find(kernel.options.begin(), kernel.options.end(), row.decisions);
    if (option != kernel.options.end()) ratios[static_cast<int>(option - kernel.options.begin())].push_back(row.ratio);
  }
  std::map<int, double> runtimes;
  if (baselines.empty()) return runtimes;
  const double default_ns = median(baselines);
  for (const auto& [option, found] : ratios) runtimes[option] = default_ns / median(found);
  runtimes[kernel.default_option] = default_ns;  // measured in every duel
  if (runtimes.size() < 2) runtimes.clear();
  return runtimes;
}

MeasuredUnder measured_most(const Database& database, const ExportOptions& options) {
  std::optional<MeasuredUnder> found;
  int matching = 0;
  for (const MeasuredUnder& under : database.measured_under(kernel_scope(options.cold))) {
    if (under.threads != options.threads || (!options.host.empty() && under.host != options.host) ||
        (!options.xla_version.empty() && under.xla_version != options.xla_version))
      continue;
    ++matching;
    if (!found) found = under;
  }
  if (!found)
    throw Error("the database has no kernels measured under these conditions", "", "hone collect measures them");
  if (matching > 1)
    spdlog::info("the database has measurements of {} hosts or XLA versions; using {}, {}", matching, found->host,
                 found->xla_version);
  return *found;
}

std::vector<std::string> measured_hosts(const Database& database, int threads) {
  std::vector<std::string> hosts;
  for (const MeasuredUnder& under : database.measured_under())
    if (under.threads == threads && std::find(hosts.begin(), hosts.end(), under.host) == hosts.end())
      hosts.push_back(under.host);
  return hosts;
}

std::string host_folder(const std::string& host) {
  std::string name;
  for (const char c : host) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'), capital = c >= 'A' && c <= 'Z';
    if (plain || capital)
      name += capital ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  if (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() ? "unknown" : name;
}

ExportReport export_dataset(const Database& database, const std::string& folder, const ExportOptions& options) {
  const MeasuredUnder under = measured_most(database, options);
  ExportReport report;
  report.host = under.host;
  report.xla_version = under.xla_version;
  std::optional<DatasetWriter> writer;  // made with the first sample, so that no empty folder is left
  std::set<std::string> programs;
  const std::vector<StoredKernelSummary> summaries = database.stored_kernels(options.threads);
  const auto rows_of = [&](const StoredKernelSummary& summary) {
    return database.find_kernel(summary.fingerprint, under.host, options.threads, under.xla_version,
                                kernel_scope(options.cold));
  };
  UsualCore core;
  if (options.kind == CollectKind::Fusion)
    for (const StoredKernelSummary& summary : summaries) core.add(rows_of(summary));
  const double core_ns = core.ns();
  for (const StoredKernelSummary& summary : summaries) {
    const std::vector<Record> rows = rows_of(summary);
    if (rows.empty()) continue;
    const std::optional<StoredKernel> kernel = database.find_stored_kernel(summary.fingerprint, options.threads);
    const Runtimes runtimes =
        options.kind == CollectKind::Tile ? tile_run_times(*kernel, rows) : fusion_runtimes(*kernel, rows, core_ns);
    if (runtimes.empty()) {
      ++report.left_out;
      continue;
    }
    if (!writer) writer.emplace(folder);
    try {
      write_kernel(*kernel, runtimes, *writer);
    } catch (const RunError&) {
      throw;  // the cause is the disk, not the kernel
    } catch (const Error& e) {
      if (report.refused++ == 0) spdlog::warn("kernel {} is skipped: {}", kernel->fingerprint, e.what());
      continue;
    }
    ++report.kernels;
    report.options += static_cast<int64_t>(runtimes.size());
    programs.insert(kernel->program);
  }
  if (report.kernels == 0)
    throw Error(report.refused > 0 ? "no kernel of the database can be encoded"
                                   : "the database has no kernels with enough valid run times",
                "", "collect some first");
  writer->close();
  if (const auto machine = database.find_machine(under.host))
    features::write_machine_file(
        folder, features::machine_record_from_json(
                    nlohmann::json::parse(shallow_json(*machine), nullptr, /*allow_exceptions=*/false), under.host));
  report.programs = static_cast<int64_t>(programs.size());
  return report;
}

}  // namespace hone::collect
