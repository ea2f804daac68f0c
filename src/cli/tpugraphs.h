// The commands of `hone tpugraphs`, one file for each kind, and what they share.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "data/tpugraphs.h"

namespace hone::cli {

struct TpuGraphsCommand {
  std::shared_ptr<OutputOptions> output;
  ProgramOptions program;
  std::vector<std::string> files;
  std::string out, data, collection, stage, db, host;
  std::vector<std::string> models;  // weights of rankers
  int threads = 1;                  // of the rankers
};

bool is_npz(const std::string& content);
// The modules of a tuning file; empty for another kind of file, for example a program.
std::vector<features::TuningModule> try_tuning(const std::string& content);
// One graph is named after the file; several also have the module's fingerprint in their names.
std::vector<TpuGraph> graphs_of(const std::vector<features::TuningModule>& modules, const std::string& path);
// The graphs of a file of the data set or of tuning data, whose content may have been read. Throws Error for any other file.
std::vector<TpuGraph> graphs_of_content(const std::string& content, const std::string& path);
std::vector<TpuGraph> graphs_of_file(const std::string& path);

nlohmann::json graph_json(const TpuGraph& graph, const std::string& file);
void print_graph(const nlohmann::json& graph);  // of graph_json()

int export_tpugraphs(const TpuGraphsCommand& command);
int rank_tpugraphs(const TpuGraphsCommand& command);   // writes a submission
int check_tpugraphs(const TpuGraphsCommand& command);  // a submission against files

}  // namespace hone::cli
