// hone tpugraphs rank and check: answers to the competition.
#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/json_text.h"
#include "base/progress.h"
#include "cli/tpugraphs.h"
#include "cost/layout_ranker.h"
#include "cost/shipped.h"
#include "data/submission.h"
#include "options/layout_options.h"
#include "options/safetensors.h"

namespace hone::cli {

namespace {

using nlohmann::json;
using Rankers = std::map<TpuCollection, std::string>;  // files of weights

TpuCollection ranked_by(const std::string& path) {
  const options::TensorFile file = options::read_safetensors(path);
  const auto found = file.metadata.find("model");
  const json model = found == file.metadata.end() ? json() : json::parse(shallow_json(found->second), nullptr, false);
  if (!model.is_object()) throw Error("not weights of a ranker", path, "hone train layout makes them");
  return options::layout_model_options_from_json(model).tiles ? TpuCollection::Tile : TpuCollection::Layout;
}

Rankers rankers_of(const TpuGraphsCommand& command) {
  Rankers rankers;
  for (const std::string& path : command.models) {
    const TpuCollection kind = ranked_by(path);
    if (!rankers.emplace(kind, path).second)
      throw Error(fmt::format("two of the models rank the {} collection", tpu_collection_name(kind)), path);
  }
  if (!command.models.empty()) return rankers;
  const std::string shipped = cost::shipped_model("layout/ranker.safetensors");
  if (!shipped.empty()) rankers[TpuCollection::Layout] = shipped;
  return rankers;
}

json collections_of(const std::vector<SubmissionRow>& rows) {
  std::map<std::string, int64_t> counts;
  for (const SubmissionRow& row : rows) ++counts[row.collection];
  return counts;
}

void show(const TpuGraphsCommand& command, const std::string& file, const std::vector<SubmissionRow>& rows) {
  const json collections = collections_of(rows);
  if (command.output->json) {
    print({{"file", file}, {"rows", rows.size()}, {"collections", collections}});
    return;
  }
  fmt::print("{}: {} rows\n", file, rows.size());
  for (const auto& [name, count] : collections.items()) fmt::print("    {:<28} {:>7}\n", name, count.get<int64_t>());
}

}  // namespace

int rank_tpugraphs(const TpuGraphsCommand& command) {
  if (!command.out.ends_with(".csv")) throw Error("the output must end in .csv", command.out);
  const std::vector<RankedGraph> graphs = ranked_graphs(command.files, command.collection);
  const Rankers rankers = rankers_of(command);
  for (const RankedGraph& graph : graphs)  // before hours of work
    if (!rankers.contains(graph.kind))
      throw Error(fmt::format("no model ranks the {} collection", tpu_collection_name(graph.kind)), graph.path,
                  "give --model-file with weights that hone train layout made of such files");
  ProgressOptions shown;
  shown.total = static_cast<double>(graphs.size());
  shown.quiet = command.output->quiet;
  Progress progress("ranking", shown);
  std::vector<SubmissionRow> rows;
  for (const RankedGraph& graph : graphs) {
    if (interrupted()) throw RunError("interrupted: nothing is written", command.out);
    rows.push_back(submission_row(graph, cost::rank_layouts(graph.path, rankers.at(graph.kind), command.threads)));
    progress.update(static_cast<double>(rows.size()), graph.name);
  }
  progress.finish();
  write_file(command.out, encode_submission(rows));
  show(command, command.out, rows);
  return 0;
}

int check_tpugraphs(const TpuGraphsCommand& command) {
  const std::vector<SubmissionRow> rows = read_submission(command.data);
  check_submission(rows, ranked_graphs(command.files, command.collection), command.data, /*all=*/true);
  show(command, command.data, rows);
  return 0;
}

}  // namespace hone::cli
