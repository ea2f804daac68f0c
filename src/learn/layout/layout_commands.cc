#include "learn/layout/layout_commands.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "base/progress.h"
#include "learn/layout/layout_trainer.h"
#include "learn/train/process.h"
#include "options/layout_files.h"

namespace hone::learn {

namespace {

using cost::LayoutScore;
using nlohmann::json;
using options::ConfigGraph;
using options::LayoutPart;

std::string text(const json& request, const char* name) { return request.value(name, std::string()); }

PredictLayouts prediction(const json& request) {
  return {request.value("augment", int64_t{1}), request.value("batch", int64_t{128}),
          request.value("seed", uint64_t{0})};
}

// The label of a column of the table: the model and what is switched off.
std::string label_of(const options::LayoutModelOptions& options) {
  std::string label = options.name;
  const bool network = options.name == "tgraph" || options.name == "tgraph-code";
  if (network && !options.channel_attention) label += " no channel attention";
  if (network && !options.cross_attention) label += " no cross attention";
  if (network && !options.edges) label += " no edges";
  if (network && !options.prune && !options.tiles) label += " not pruned";
  return label;
}

struct Column {
  std::string label;
  std::vector<TrainedLayouts> seeds;
  std::vector<std::vector<LayoutScore>> scores;  // [graphs][seeds]
  double seconds = 0;
};

double deviation(const std::vector<LayoutScore>& scores, double LayoutScore::* metric) {
  if (scores.size() < 2) return 0;
  const double mean = cost::mean_of(scores).*metric;
  double squares = 0;
  for (const LayoutScore& score : scores) squares += (score.*metric - mean) * (score.*metric - mean);
  return std::sqrt(squares / static_cast<double>(scores.size() - 1));
}

json cell(const std::vector<LayoutScore>& seeds) {
  json metrics = to_json(cost::mean_of(seeds));
  metrics["configurations"] = seeds.empty() ? 0 : seeds[0].configurations;
  metrics["kendall_tau_spread"] = deviation(seeds, &LayoutScore::tau);
  metrics["pair_accuracy_spread"] = deviation(seeds, &LayoutScore::pair_accuracy);
  metrics["slowdown_top1_spread"] = deviation(seeds, &LayoutScore::slowdown_top1);
  metrics["slowdown_top10_spread"] = deviation(seeds, &LayoutScore::slowdown_top10);
  metrics["tile_score_spread"] = deviation(seeds, &LayoutScore::tile_score);
  metrics["seeds"] = seeds.size();
  return metrics;
}

std::vector<Column> columns_of(const json& request) {
  std::vector<Column> columns;
  for (const json& path : request.at("weights")) {
    TrainedLayouts trained = load_layout_weights(path.get<std::string>());
    const std::string label = label_of(trained.options);
    auto found = std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return c.label == label; });
    if (found == columns.end()) found = columns.insert(columns.end(), {label, {}, {}, 0});
    found->seeds.push_back(std::move(trained));
  }
  if (columns.empty()) throw Error("no weights to evaluate", "--model-file");
  return columns;
}

// What is evaluated: the part held out in training, or everything. All weights must have been trained on the same part.
std::vector<LayoutPart> judged(const std::vector<ConfigGraph>& graphs, const std::vector<Column>& columns,
                               const std::string& part) {
  if (part == "all") return options::all_layouts(graphs);
  const options::LayoutSplit& split = columns[0].seeds[0].split;
  for (const Column& column : columns)
    for (const TrainedLayouts& trained : column.seeds)
      if (to_json(trained.split) != to_json(split))
        throw Error("the weights were trained on different parts of the data", "--model-file",
                    "--part all evaluates on all data");
  std::vector<LayoutPart> test = options::split_layouts(graphs, split, 0).test;
  if (test.empty())
    throw Error("no data was held out when these weights were trained", "--part", "use --part all with other data");
  return test;
}

json table(const std::vector<ConfigGraph>& graphs, const std::vector<LayoutPart>& parts, std::vector<Column>& columns) {
  json rows = json::array();
  for (size_t i = 0; i < parts.size(); ++i) {
    json models = json::object();
    for (const Column& column : columns) models[column.label] = cell(column.scores[i]);
    rows.push_back({{"graph", graphs[parts[i].graph].name},
                    {"configurations", parts[i].configs.size()},
                    {"nodes", graphs[parts[i].graph].nodes()},
                    {"models", models}});
  }
  json mean = json::object(), about = json::object();
  for (const Column& column : columns) {
    std::vector<LayoutScore> by_seed;  // for each seed the mean over graphs, so that the spread is that of the means
    for (size_t s = 0; s < column.seeds.size(); ++s) {
      std::vector<LayoutScore> of_seed;
      for (const auto& seeds : column.scores) of_seed.push_back(seeds[s]);
      by_seed.push_back(cost::mean_of(of_seed));
    }
    mean[column.label] = cell(by_seed);
    about[column.label] = {{"seeds", column.seeds.size()},
                           {"members", column.seeds[0].members.size()},
                           {"split", column.seeds[0].split.by},
                           {"seconds", column.seconds}};
  }
  return {{"graphs", rows}, {"mean", mean}, {"models", about}};
}

}  // namespace

nlohmann::json run_train_layout(const nlohmann::json& request, const cost::LearnHost& host) {
  const options::LayoutTrainOptions options = options::layout_train_options_from_json(request.at("options"));
  const std::vector<ConfigGraph> graphs = options::read_layout_data(text(request, "data"), text(request, "cache"));
  const LayoutTrainFiles files{text(request, "checkpoint"), request.value("checkpoint_every", int64_t{500}),
                               request.value("resume", false), text(request, "log_dir"), text(request, "command")};
  ProgressOptions shown;
  shown.total = static_cast<double>(options.steps * options.train_folds);
  shown.quiet = request.value("quiet", false);
  hone::Progress line("train " + options.model.name, shown);
  const LayoutTrainReport report = train_layouts(
      graphs, options, files, [&] { return host.interrupted && host.interrupted(); },
      [&](int64_t done, int64_t fold, double loss, double best) {
        char note[96];
        std::snprintf(note, sizeof(note), "fold %d, loss %.4f, best tau %.3f", static_cast<int>(fold), loss, best);
        line.update(static_cast<double>(done), note);
      });
  line.finish();
  const std::string out = text(request, "out");
  if (!out.empty()) save_layout_weights(out, report.trained);
  json folds = json::array();
  for (const FoldReport& fold : report.folds)
    folds.push_back({{"fold", fold.fold},
                     {"steps", fold.steps},
                     {"best_step", fold.best_step},
                     {"validation_tau", fold.validation_tau},
                     {"stopped_early", fold.stopped_early}});
  return {{"model", options.model.name},
          {"loss", options.loss},
          {"split", options.split.by},
          {"seed", options.seed},
          {"graphs", report.graphs},
          {"configurations", report.configurations},
          {"nodes", report.nodes},
          {"folds", folds},
          {"members", report.trained.members.size()},
          {"interrupted", report.interrupted},
          {"seconds", report.seconds},
          {"configurations_per_second", report.configs_per_s},
          {"log", report.event_file},
          {"output", out}};
}

nlohmann::json run_eval_layout(const nlohmann::json& request, const cost::LearnHost& host) {
  keep_freed_memory();
  at::set_num_threads(request.value("threads", 1));
  const std::vector<ConfigGraph> graphs = options::read_layout_data(text(request, "data"), text(request, "cache"));
  std::vector<Column> columns = columns_of(request);
  const std::string part = request.value("part", "test");
  const std::vector<LayoutPart> parts = judged(graphs, columns, part);
  if (parts.empty()) throw Error("no configuration of the data has a run time", text(request, "data"));
  ProgressOptions shown;
  shown.total = static_cast<double>(parts.size() * columns.size());
  shown.quiet = request.value("quiet", false);
  hone::Progress line("eval layout", shown);
  double done = 0;
  for (const LayoutPart& judged_part : parts)
    for (Column& column : columns) {
      std::vector<LayoutScore> seeds;
      const double from_s = steady_s();
      for (const TrainedLayouts& trained : column.seeds) {
        if (host.interrupted && host.interrupted()) throw RunError("interrupted", "eval layout");
        seeds.push_back(cost::score_layouts(
            predict_layouts(trained, graphs[judged_part.graph], judged_part.configs, prediction(request)),
            judged_part.runtime_ns));
      }
      column.seconds += steady_s() - from_s;
      column.scores.push_back(std::move(seeds));
      line.update(++done, column.label);
    }
  line.finish();
  json response = table(graphs, parts, columns);
  response["part"] = part;
  response["held_out"] = part == "all" ? "nothing" : columns[0].seeds[0].split.by;
  return response;
}

nlohmann::json run_rank_layout(const nlohmann::json& request, const cost::LearnHost&) {
  keep_freed_memory();
  at::set_num_threads(request.value("threads", 1));
  const std::vector<ConfigGraph> graphs = options::read_layout_data(text(request, "data"), text(request, "cache"));
  const TrainedLayouts trained = load_layout_weights(text(request, "weights"));
  json rows = json::array();
  const double from_s = steady_s();
  for (const ConfigGraph& graph : graphs) {
    std::vector<int32_t> all(graph.configurations());
    std::iota(all.begin(), all.end(), 0);
    rows.push_back({{"graph", graph.name}, {"scores", predict_layouts(trained, graph, all, prediction(request))}});
  }
  return {{"graphs", rows}, {"seconds", steady_s() - from_s}};
}

}  // namespace hone::learn
