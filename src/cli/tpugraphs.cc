// hone tpugraphs: reads and writes the public data set's files.
#include "cli/tpugraphs.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/progress.h"
#include "base/stats.h"
#include "base/text.h"
#include "data/submission.h"
#include "data/zip.h"
#include "features/opcodes.h"

namespace hone::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string stem_of(const std::string& path) { return fs::path(path).stem().string(); }

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

bool is_csv(const std::string& content) { return content.rfind("ID,", 0) == 0; }

std::vector<features::TuningModule> read_tuning(const std::string& content, const std::string& path) {
  try {
    return features::read_tuning_data(content);
  } catch (const Error& e) {  // the error does not name the file
    throw Error(e.what(), path + ": " + e.where(), e.hint());
  }
}

// ---- inspect

int64_t distinct_configurations(const TpuGraph& graph) {
  if (graph.configurations() == 0) return 0;
  const size_t width = graph.config_feat.size() / graph.runtime_ns.size();
  std::set<uint64_t> seen;
  for (int64_t c = 0; c < graph.configurations(); ++c)
    seen.insert(hash64({reinterpret_cast<const char*>(graph.config_feat.data() + c * width), width * sizeof(float)}));
  return static_cast<int64_t>(seen.size());
}

json inspect_csv(const TpuGraphsCommand& command, const std::string& path, const std::string& content) {
  const std::vector<SubmissionRow> rows = decode_submission(content, path);
  std::map<std::string, int64_t> collections;
  for (const SubmissionRow& row : rows) ++collections[row.collection];
  json out = {{"file", path}, {"rows", rows.size()}, {"collections", collections}};
  if (!command.data.empty())
    out["rows_checked"] = check_submission(rows, ranked_graphs({&command.data, 1}), path, /*all=*/false);
  return out;
}

int inspect_command(const TpuGraphsCommand& command) {
  const std::string& path = command.files.at(0);
  const std::string content = read_file(path);
  if (is_csv(content)) {
    const json summary = inspect_csv(command, path, content);
    if (command.output->json) {
      print(summary);
      return 0;
    }
    fmt::print("{}: {} rows\n", path, summary["rows"].get<int64_t>());
    for (const auto& [name, count] : summary["collections"].items())
      fmt::print("    {:<28} {:>7}\n", name, count.get<int64_t>());
    if (summary.contains("rows_checked"))
      fmt::print("  {} of them agree with their graphs\n", summary["rows_checked"].get<int64_t>());
    return 0;
  }
  const std::vector<TpuGraph> graphs = graphs_of_content(content, path);
  json list = json::array();
  for (const TpuGraph& graph : graphs) list.push_back(graph_json(graph, path));
  if (command.output->json)
    print(list.size() == 1 ? list[0] : json{{"file", path}, {"graphs", list}});
  else
    for (const json& graph : list) print_graph(graph);
  return 0;
}

// ---- import

// Files are read twice, so that nothing is written if one is not valid and only one is in memory at a time.
int import_command(const TpuGraphsCommand& command) {
  std::set<std::string> names;
  for (const std::string& path : command.files)
    for (const TpuGraph& graph : graphs_of_file(path))
      if (!names.insert(graph.name).second)
        throw Error(fmt::format("two graphs are called '{}'", graph.name), path,
                    "import them into folders of their own");
  std::error_code failed;
  fs::create_directories(command.out, failed);
  if (failed) throw RunError("cannot make the folder: " + failed.message(), command.out);
  ProgressOptions shown;
  shown.total = static_cast<double>(command.files.size());
  shown.quiet = command.output->quiet;
  Progress progress("import", shown);
  json list = json::array();
  for (size_t i = 0; i < command.files.size() && !interrupted(); ++i) {
    for (const TpuGraph& graph : graphs_of_file(command.files[i])) {
      const std::string path = (fs::path(command.out) / (graph.name + ".npz")).string();
      write_tpu_graph(path, graph);
      list.push_back({{"file", path},
                      {"name", graph.name},
                      {"collection", tpu_collection_name(graph.collection)},
                      {"nodes", graph.nodes()},
                      {"configurations", graph.configurations()}});
    }
    progress.update(static_cast<double>(i + 1), command.files[i]);
  }
  progress.finish();
  if (command.output->json)
    print({{"folder", command.out}, {"graphs", list}});
  else
    fmt::print("{}: {} graphs\n", command.out, list.size());
  return 0;
}

}  // namespace

bool is_npz(const std::string& content) { return is_zip(bytes_of(content)); }

std::vector<features::TuningModule> try_tuning(const std::string& content) {
  try {
    return features::read_tuning_data(content);
  } catch (const Error&) {
    return {};
  }
}

std::vector<TpuGraph> graphs_of(const std::vector<features::TuningModule>& modules, const std::string& path) {
  std::vector<TpuGraph> graphs;
  std::set<std::string> names;
  for (const features::TuningModule& module : modules) {
    std::string name = stem_of(path);
    if (modules.size() > 1) name += fmt::format("_{:016x}", module.fingerprint);
    if (!names.insert(name).second) throw Error("two modules have one fingerprint", path);
    graphs.push_back(tpu_graph_of(module, name, fmt::format("{}, module {}", path, graphs.size())));
  }
  return graphs;
}

std::vector<TpuGraph> graphs_of_content(const std::string& content, const std::string& path) {
  if (!is_npz(content)) return graphs_of(read_tuning(content, path), path);
  std::vector<TpuGraph> graphs;
  graphs.push_back(decode_tpu_graph(decode_npz(bytes_of(content), path), stem_of(path), path));
  return graphs;
}

std::vector<TpuGraph> graphs_of_file(const std::string& path) { return graphs_of_content(read_file(path), path); }

json graph_json(const TpuGraph& graph, const std::string& file) {
  std::map<std::string, int64_t> opcodes;
  for (uint8_t number : graph.node_opcode) ++opcodes[std::string(features::opcode_name(number))];
  json out = {{"file", file},
              {"name", graph.name},
              {"collection", tpu_collection_name(graph.collection)},
              {"nodes", graph.nodes()},
              {"edges", graph.edges()},
              {"configurable_nodes", graph.node_config_ids.size()},
              {"segments", graph.node_splits.empty() ? 0 : graph.node_splits.size() - 1},
              {"configurations", graph.configurations()},
              {"distinct_configurations", distinct_configurations(graph)},
              {"hidden_run_times", graph.hidden()},
              {"opcodes", opcodes}};
  if (graph.hidden()) return out;
  out["runtime_ns"] = {{"least", quantile(graph.runtime_ns, 0)},
                       {"median", median(graph.runtime_ns)},
                       {"most", quantile(graph.runtime_ns, 1)}};
  return out;
}

void print_graph(const json& graph) {
  fmt::print("{}: {} collection, {} nodes, {} edges, {} configurable nodes, {} configurations ({} distinct)\n",
             graph["name"].get<std::string>(), graph["collection"].get<std::string>(), graph["nodes"].get<int64_t>(),
             graph["edges"].get<int64_t>(), graph["configurable_nodes"].get<int64_t>(),
             graph["configurations"].get<int64_t>(), graph["distinct_configurations"].get<int64_t>());
  if (graph.contains("runtime_ns"))
    fmt::print("  run times: least {}, median {}, most {}\n", human_ns(graph["runtime_ns"]["least"].get<double>()),
               human_ns(graph["runtime_ns"]["median"].get<double>()),
               human_ns(graph["runtime_ns"]["most"].get<double>()));
  else
    fmt::print("  run times are not known\n");
  std::vector<std::pair<int64_t, std::string>> opcodes;
  for (const auto& [name, count] : graph["opcodes"].items()) opcodes.emplace_back(-count.get<int64_t>(), name);
  std::sort(opcodes.begin(), opcodes.end());
  for (size_t i = 0; i < std::min<size_t>(opcodes.size(), 12); ++i)
    fmt::print("    {:<28} {:>7}\n", opcodes[i].second, -opcodes[i].first);
}

namespace {

void add_export(CLI::App& sub, TpuGraphsCommand& command) {
  sub.add_option("FILE", command.files,
                 "program, tuning file (.pb) or graph (.npz); for .csv graphs and tuning files with run times")
      ->required()
      ->type_name("");
  sub.add_option("-o,--output", command.out,
                 "file to write: .npz, or .csv of configurations by run time; with --collection tile a folder")
      ->required()
      ->type_name("FILE");
  sub.add_option(
      "--collection", command.collection,
      "what a program becomes: layout (its graph as XLA:CPU's layout assignment receives it, with the layouts "
      "in --db) or tile (its kernels with the tiles in --db); for .csv the collection in the IDs, as "
      "layout:xla:random");
  sub.add_option("--stage", command.stage,
                 "stage of a program: source (as it is) or layout (as XLA:CPU's layout assignment receives it) "
                 "(default source; with --collection layout: layout)")
      ->check(one_of({"source", "layout"}));
  sub.add_option("--db", command.db, "database of hone collect layout, or of hone collect tile")->type_name("FILE");
  sub.add_option(
      "--host", command.host,
      "host whose measurements in --db are taken (default: of layouts this machine, of tiles the one with most)");
  sub.add_option("--threads", command.program.threads, "threads of one run (default 1)");
  add_max_isa_option(sub, command.program.max_isa);
}

void add_rank(CLI::App& sub, TpuGraphsCommand& command) {
  sub.add_option("DATA", command.files, "files of the data set (.npz), or folders of them")->required()->type_name("");
  sub.add_option("-o,--output", command.out, "file to write (.csv)")->required()->type_name("FILE");
  sub.add_option(
         "--model-file", command.models,
         "weights of hone train layout; give one of layouts and one of tiles to rank both (default: the shipped ranker "
         "of layouts)")
      ->type_name("FILE");
  sub.add_option("--collection", command.collection,
                 "collection in the IDs, as layout:xla:random (default: from the files' folders)");
  sub.add_option("--threads", command.threads, "threads of the models (default 1)")->check(above_zero());
}

void add_check(CLI::App& sub, TpuGraphsCommand& command) {
  sub.add_option("FILE", command.data, "the answer (.csv)")->required()->type_name("");
  sub.add_option("DATA", command.files, "all files of the data set that it is for (.npz), or folders of them")
      ->required()
      ->type_name("");
  sub.add_option("--collection", command.collection,
                 "collection in the IDs, as layout:xla:random (default: from the files' folders)");
}

}  // namespace

Runner declare_tpugraphs(CLI::App& app) {
  app.require_subcommand(1);
  const auto chosen = std::make_shared<Runner>();
  const auto add = [&](const char* name, const char* summary, int (*run)(const TpuGraphsCommand&), auto add_options) {
    CLI::App* sub = app.add_subcommand(name, summary);
    const auto command = std::make_shared<TpuGraphsCommand>();
    add_options(*sub, *command);
    command->output = add_output_options(*sub);
    sub->final_callback([chosen, command, run] { *chosen = [command, run] { return run(*command); }; });
  };
  add("inspect", "show what a graph file, a tuning file or a competition's answer holds", inspect_command,
      [](CLI::App& sub, TpuGraphsCommand& command) {
        sub.add_option("FILE", command.files,
                       "file of the data set (.npz), of tuning data (.pb), or .csv of ID,TopConfigs")
            ->required()
            ->expected(1)
            ->type_name("");
        sub.add_option("--data", command.data, "folder of .npz files, to check that the answer's indices are theirs")
            ->type_name("FOLDER");
      });
  add("import", "check files of the data set and convert them to one graph per file", import_command,
      [](CLI::App& sub, TpuGraphsCommand& command) {
        sub.add_option("FILE", command.files, "files of the data set (.npz) and of tuning data (.pb)")
            ->required()
            ->type_name("");
        sub.add_option("-o,--output", command.out, "folder to write")->required()->type_name("FOLDER");
      });
  add("export", "write a program's graph with its measured layouts, or its kernels with their measured tiles",
      export_tpugraphs, add_export);
  add("rank", "rank the configurations of graph files by models, as an answer to the competition (.csv)",
      rank_tpugraphs, add_rank);
  add("check", "check an answer to the competition against the files that it is for", check_tpugraphs, add_check);
  return [chosen] { return (*chosen)(); };
}

}  // namespace hone::cli
