// hone tpugraphs export: graphs of programs, with what was measured of them.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "cli/tpugraphs.h"
#include "collect/tpu_tiles.h"
#include "data/layout_space.h"
#include "data/submission.h"
#include "graph/hlo_reader.h"
#include "report/program_file.h"

namespace hone::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The operations whose layouts are configurable in the data set.
bool configurable_in_data_set(const Node& node) {
  return node.opcode == "convolution" || node.opcode == "dot" || node.opcode == "reshape";
}

bool at_layout_stage(const TpuGraphsCommand& command) {
  return command.stage == "layout" || (command.stage.empty() && command.collection == "layout");
}

TpuGraph graph_of_program(const TpuGraphsCommand& command, const std::string& path) {
  ProgramOptions options = command.program;
  options.program = path;
  const OpenedProgram opened = open_program(options);
  tune::Session& session = *opened.session;
  if (at_layout_stage(command)) {
    const auto layouts = layout_space_from(session.list_layouts());
    std::vector<Record> rows;
    if (!command.db.empty())
      rows = open_existing_database(command.db)
                 .find_program(session.program().program, command.host.empty() ? session.host() : command.host,
                               session.target().threads, session.worker_info().xla_version);
    return to_tpu_graph(layouts, opened.file.name, rows);
  }
  const auto& proto = opened.session->program().module_proto;
  const HloGraph module = read_hlo_graph({reinterpret_cast<const char*>(proto.data()), proto.size()});
  std::vector<int64_t> configurable;
  for (size_t i = 0; i < module.nodes.size(); ++i)
    if (configurable_in_data_set(module.nodes[i])) configurable.push_back(static_cast<int64_t>(i));
  return tpu_graph_of(module, std::move(configurable), opened.file.name, path);
}

// Configurations by measured run time, best first: the correct answer, for checking an evaluation.
SubmissionRow answer_of(const TpuGraph& graph, const TpuGraphsCommand& command, const std::string& path) {
  if (graph.hidden()) throw Error("the run times are not known: nothing to rank", path);
  RankedGraph ranked{path, graph.name, command.collection, graph.collection, graph.configurations()};
  if (ranked.collection.empty() && path.ends_with(".npz")) ranked.collection = ranked_graphs({&path, 1})[0].collection;
  if (ranked.collection.empty()) ranked.collection = tpu_collection_name(graph.collection);
  std::vector<double> times = graph.runtime_ns;
  for (size_t i = 0; i < graph.normalizer_ns.size(); ++i) times[i] /= graph.normalizer_ns[i];
  return submission_row(ranked, times);
}

int export_csv(const TpuGraphsCommand& command) {
  std::vector<SubmissionRow> rows;
  for (const std::string& path : command.files)
    for (const TpuGraph& graph : graphs_of_file(path)) rows.push_back(answer_of(graph, command, path));
  write_file(command.out, encode_submission(rows));
  if (command.output->json)
    print({{"output", command.out}, {"rows", rows.size()}});
  else
    fmt::print("{}: {} rows\n", command.out, rows.size());
  return 0;
}

int export_tiles(const TpuGraphsCommand& command) {
  if (command.db.empty())
    throw Error("tiles are measured before they are exported", "--db",
                "hone collect tile PROGRAM --db FILE, and name that FILE");
  const std::string& path = command.files[0];
  if (!fs::exists(path)) throw Error("there is no such file", path);
  collect::ExportOptions options;
  options.threads = command.program.threads.value_or(1);
  options.host = command.host;
  const Database database = open_existing_database(command.db);
  const collect::TpuTilesReport report =
      collect::export_tpu_tiles(database, report::program_name(path), command.out, options);
  if (command.output->json)
    print({{"folder", command.out},
           {"files", report.files},
           {"configurations", report.configurations},
           {"left_out", report.left_out},
           {"refused", report.refused},
           {"host", report.host},
           {"xla_version", report.xla_version}});
  else
    fmt::print("{}: {} kernels, {} configurations; {} kernels without two measured tiles, {} that cannot be encoded\n",
               command.out, report.files.size(), report.configurations, report.left_out, report.refused);
  return 0;
}

// The only graph of a file, or a program's.
TpuGraph graph_of_any(const TpuGraphsCommand& command, const std::string& path) {
  if (!fs::is_directory(path)) {
    const std::string content = read_file(path);
    if (is_npz(content)) return graphs_of_content(content, path)[0];
    const std::vector<features::TuningModule> modules = try_tuning(content);
    if (modules.size() > 1)
      throw Error(fmt::format("the file has {} modules, an .npz file holds one", modules.size()), path,
                  "hone tpugraphs import writes a folder");
    if (!modules.empty()) return graphs_of(modules, path)[0];
  }
  return graph_of_program(command, path);
}

}  // namespace

int export_tpugraphs(const TpuGraphsCommand& command) {
  if (command.out.ends_with(".csv")) return export_csv(command);
  if (!command.collection.empty() && command.collection != "layout" && command.collection != "tile")
    throw Error("a program becomes a layout or a tile collection", "--collection", "give layout or tile");
  if (command.files.size() != 1) throw Error("one program or graph at a time", "FILE", "only .csv takes several");
  if (command.collection == "tile") return export_tiles(command);
  if (!command.out.ends_with(".npz")) throw Error("the output must end in .npz or .csv", command.out);
  if (!command.db.empty() && !at_layout_stage(command))
    throw Error("a database has layouts measured of the program as XLA lays it out", "--db", "add --collection layout");
  const TpuGraph graph = graph_of_any(command, command.files[0]);
  write_tpu_graph(command.out, graph);
  const json summary = graph_json(graph, command.out);
  if (command.output->json)
    print(summary);
  else
    print_graph(summary);
  return 0;
}

}  // namespace hone::cli
