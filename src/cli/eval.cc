// hone eval tile|fusion: the accuracy of predictions on programs that were not used in training, as in tables 2 and 8
// of Kaufman et al. 2021.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/files.h"
#include "cli/cli.h"
#include "cli/layout_model.h"
#include "cost/analytical.h"
#include "cost/evaluation.h"
#include "cost/learn_library.h"
#include "cost/metrics.h"
#include "features/machine_record.h"

namespace hone::cli {

namespace {

using nlohmann::json;

struct EvalCommand {
  std::string task, dataset, split, part = "test", weights, save;
  bool analytical = false;
  double min_us = 5;
  int threads = 1;
  std::shared_ptr<OutputOptions> output;
};

using Predictions = std::vector<std::vector<double>>;  // [kernels][options]

// One column of the table.
struct Judged {
  std::string name;
  cost::Evaluation evaluation;
};

const std::vector<std::string>& part_programs(const Split& split, const std::string& part) {
  return part == "train" ? split.train : part == "validation" ? split.validation : split.test;
}

std::vector<KernelView> views_of(const Dataset& dataset, const Split& split, const std::string& part,
                                 const std::string& path) {
  std::vector<KernelView> views;
  for (int64_t index : Split::kernels_of(dataset, part_programs(split, part))) views.push_back(dataset.kernel(index));
  if (views.empty())
    throw Error("no kernel of the data set belongs to the " + part + " part of the split", path,
                "the split names programs as the data set does");
  return views;
}

// XLA's ranking: its own choice first, all others equal.
std::vector<double> default_first(const KernelView& kernel) {
  std::vector<double> rank(kernel.options(), 1);
  if (kernel.default_option >= 0) rank[kernel.default_option] = 0;
  return rank;
}

// That the data set's run times are of, or this one where the data set does not say.
features::Cpu machine_of(const EvalCommand& c) {
  const auto machine = features::read_machine_file(c.dataset);
  features::Cpu cpu = machine ? machine->properties : features::this_cpu(c.threads);
  cpu.threads = c.threads;
  return cpu;
}

Predictions learned(const EvalCommand& c, const std::vector<KernelView>& kernels) {
  const auto model = cost::load_learned_model(c.weights, machine_of(c));
  if (model->task() != c.task)
    throw Error("these weights were trained on " + model->task() + " data", c.weights, "hone eval " + model->task());
  if (c.task == "fusion" && !model->predicts_runtime())
    throw Error("these weights rank options and predict no run times", c.weights, "train them with --loss mse");
  constexpr size_t kAtOnce = 64;
  Predictions predictions;
  for (size_t first = 0; first < kernels.size(); first += kAtOnce)
    for (auto& scores :
         model->predict_all(std::span(kernels).subspan(first, std::min(kAtOnce, kernels.size() - first))))
      predictions.push_back(std::move(scores));
  return predictions;
}

// `s`: of one program, or an average over programs.
json metrics_json(const EvalCommand& c, const cost::ProgramScore& s, const std::string& predictor) {
  json metrics;
  if (c.task == "tile")
    metrics = {
        {"ape_top1", s.ape_top1}, {"ape_top10", s.ape_top10}, {"kendall_tau", s.tau}, {"distinct_tau", s.distinct_tau}};
  else
    metrics = {{"mape", s.mape}, {"sum_error", s.sum_error}, {"kendall_tau", s.tau}};
  if (predictor == "xla") metrics.erase("kendall_tau"), metrics.erase("distinct_tau");
  return metrics;
}

json eval_json(const EvalCommand& c, const std::vector<Judged>& columns) {
  json rows = json::array(), mean, middle, geometric;
  const auto& first = columns.front().evaluation.programs;
  for (size_t i = 0; i < first.size(); ++i) {
    json row = {{"program", first[i].program},
                {"family", first[i].family},
                {"kernels", first[i].kernels},
                {"options", first[i].options}};
    for (const Judged& j : columns) {
      row[j.name] = metrics_json(c, j.evaluation.programs[i], j.name);
    }
    rows.push_back(row);
  }
  for (const Judged& j : columns) {
    const cost::Evaluation& e = j.evaluation;
    mean[j.name] = metrics_json(c, e.mean(), j.name);
    middle[j.name] = metrics_json(c, e.median(), j.name);
    geometric[j.name] = metrics_json(c, e.geometric_mean(), "xla");  // errors alone
  }
  return {{"task", c.task}, {"part", c.part},   {"programs", rows},
          {"mean", mean},   {"median", middle}, {"geometric_mean", geometric}};
}

void print_scores(const std::string& name, const json& row, const std::vector<Judged>& columns,
                  const std::string& error) {
  fmt::print("{:<32.32}", name);
  for (const Judged& j : columns) fmt::print(" {:>11.2f}", row.at(j.name).at(error).get<double>());
  for (const Judged& j : columns)
    if (row.at(j.name).contains("kendall_tau"))
      fmt::print(" {:>11.3f}", row.at(j.name).at("kendall_tau").get<double>());
  fmt::print("\n");
}

void print_eval(const json& r, const EvalCommand& c, const std::vector<Judged>& columns) {
  const std::string error = c.task == "tile" ? "ape_top1" : "mape";
  const std::string title =
      c.task == "tile" ? "Tile-Size APE, %" : fmt::format("MAPE, %, of kernels from {} us", c.min_us);
  fmt::print("{:<32} {:<{}}Kendall's tau\n{:<32}", "", title, std::max(12 * columns.size(), title.size() + 2),
             c.part + " program");
  for (const Judged& j : columns) fmt::print(" {:>11}", j.name);
  for (const Judged& j : columns)
    if (j.name != "xla") fmt::print(" {:>11}", j.name);
  fmt::print("\n");
  for (const json& row : r.at("programs")) print_scores(row.at("program"), row, columns, error);
  print_scores("mean", r.at("mean"), columns, error);
  print_scores("median", r.at("median"), columns, error);
  print_scores("geometric mean", r.at("geometric_mean"), columns, error);
  for (const Judged& j : columns) {
    const cost::Evaluation& e = j.evaluation;
    if (c.task == "fusion")
      fmt::print("{}: sums of programs are off by {:.1f} % (mean), {:.1f} % (median)\n", j.name, e.sum_error,
                 e.sum_error_median);
    else if (j.name != "xla")
      fmt::print("{}: tau {:.3f} over options that differ by {:.0f} % or more\n", j.name, e.distinct_tau,
                 100 * (cost::kDistinguishable - 1));
  }
}

int run_eval(const EvalCommand& c) {
  if (!std::isfinite(c.min_us) || c.min_us < 0) throw Error("a time must not be negative", "--min-us");
  const Dataset dataset = Dataset::open(c.dataset);
  if (dataset.size() == 0) throw Error("the data set has no kernel", c.dataset, "hone collect export makes one");
  const Split split = Split::read(c.split);
  const std::vector<KernelView> kernels = views_of(dataset, split, c.part, c.split);
  const cost::EvaluateOptions options{c.task, c.min_us * 1000};
  std::vector<Judged> columns;
  const auto judge = [&](const std::string& name, const Predictions& predictions) {
    columns.push_back({name, cost::evaluate(kernels, predictions, /*predicts_runtime=*/c.task == "fusion", options)});
  };
  if (!c.weights.empty()) judge("learned", learned(c, kernels));
  json fitted;
  if (c.analytical || c.weights.empty() || !c.save.empty()) {
    cost::AnalyticalModel model(machine_of(c));
    model.fit(views_of(dataset, split, "validation", c.split), {.within_kernels = c.task == "tile"});
    fitted = model.to_json();
    Predictions predictions;
    for (const KernelView& kernel : kernels) predictions.push_back(model.predict(kernel));
    judge("analytical", predictions);
  }
  if (c.task == "tile") {
    Predictions predictions;
    for (const KernelView& kernel : kernels) predictions.push_back(default_first(kernel));
    judge("xla", predictions);
  }
  if (!c.save.empty()) write_file(c.save, fitted.dump(2) + "\n");
  json r = eval_json(c, columns);
  r["kernels"] = kernels.size();
  r["corrupt_shards"] = dataset.corrupt_shards();
  if (!fitted.is_null()) r["analytical_model"] = fitted;
  if (c.output->json) {
    print(r);
    return 0;
  }
  print_eval(r, c, columns);
  if (dataset.corrupt_shards() > 0) fmt::print("{} damaged shards skipped\n", dataset.corrupt_shards());
  return 0;
}

}  // namespace

Runner declare_eval(CLI::App& app) {
  app.require_subcommand(1);
  const auto chosen = std::make_shared<Runner>();
  const std::pair<const char*, const char*> tasks[] = {
      {"tile", "evaluate how well models rank the options of kernels"},
      {"fusion", "evaluate how well models predict run times of kernels"}};
  for (const auto& [task, summary] : tasks) {
    CLI::App* sub = app.add_subcommand(task, summary);
    const auto c = std::make_shared<EvalCommand>();
    c->task = task;
    sub->add_option("DATASET", c->dataset, "folder of the data set's shards")->required()->type_name("");
    sub->add_option("--split", c->split, "file that assigns programs to training, validation and test")
        ->required()
        ->type_name("FILE");
    sub->add_option(kModelFile, c->weights, "weights of hone train (safetensors), or a folder of them")
        ->type_name("FILE");
    sub->add_flag(
        "--analytical", c->analytical,
        "evaluate the analytical model as well, fitted on the validation part (default without --model-file)");
    sub->add_option("--save", c->save, "file for the fitted analytical model (JSON), for hone predict")
        ->type_name("FILE");
    sub->add_option("--part", c->part, "part of the split: train, validation or test (default test)")
        ->check(one_of({"train", "validation", "test"}));
    if (c->task == "fusion")
      sub->add_option("--min-us", c->min_us, "run time, in us, below which kernels do not count (default 5)")
          ->type_name("US");
    sub->add_option("--threads", c->threads, "threads of the network (default 1)")->check(above_zero());
    c->output = add_output_options(*sub);
    sub->final_callback([chosen, c] { *chosen = [c] { return run_eval(*c); }; });
  }
  declare_eval_layout(app, chosen);
  return [chosen] { return (*chosen)(); };
}

}  // namespace hone::cli
