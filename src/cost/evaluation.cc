#include "cost/evaluation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/stats.h"
#include "cost/metrics.h"

namespace hone::cost {

namespace {

ProgramScore score_tile(const std::vector<RankedKernel>& kernels, bool predicts_runtime) {
  ProgramScore score;
  score.ape_top1 = tile_size_ape(kernels, 1);
  score.ape_top10 = tile_size_ape(kernels, 10);
  score.tau = mean_kendall_tau(kernels);
  score.distinct_tau = mean_tau_of_distinguishable(kernels);
  std::vector<double> predicted, actual;
  for (const RankedKernel& kernel : kernels) {
    predicted.insert(predicted.end(), kernel.predicted.begin(), kernel.predicted.end());
    actual.insert(actual.end(), kernel.runtime_ns.begin(), kernel.runtime_ns.end());
  }
  if (predicts_runtime) score.mape = mean_absolute_percentage_error(predicted, actual);
  return score;
}

ProgramScore score_fusion(const std::vector<RankedKernel>& kernels) {
  ProgramScore score;
  std::vector<double> predicted, actual;
  for (const RankedKernel& kernel : kernels) {
    predicted.push_back(kernel.predicted[0]);
    actual.push_back(kernel.runtime_ns[0]);
  }
  score.mape = mean_absolute_percentage_error(predicted, actual);
  score.tau = kendall_tau(predicted, actual);
  const double sum = std::accumulate(actual.begin(), actual.end(), 0.0);
  score.sum_error = 100 * std::abs(std::accumulate(predicted.begin(), predicted.end(), 0.0) / sum - 1);
  return score;
}

template <class Value>
void summarise(const std::vector<ProgramScore>& programs, Value ProgramScore::* value, double& mean, double& middle) {
  std::vector<double> values;
  for (const ProgramScore& score : programs) values.push_back(score.*value);
  mean = 0;
  for (double v : values) mean += v / static_cast<double>(values.size());
  middle = median(values);
}

double geometric_mean_of(const std::vector<ProgramScore>& programs, double ProgramScore::* value) {
  constexpr double kLeast = 0.1;
  double sum = 0;
  for (const ProgramScore& score : programs) sum += std::log(std::max(kLeast, score.*value));
  return std::exp(sum / static_cast<double>(programs.size()));
}

}  // namespace

Evaluation evaluate(const std::vector<KernelView>& kernels, const std::vector<std::vector<double>>& predicted,
                    bool predicts_runtime, const EvaluateOptions& options) {
  const bool tile = options.task == "tile";
  std::map<std::string, std::vector<RankedKernel>> by_program;
  std::map<std::string, std::string> families;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const KernelView& kernel = kernels[i];
    if (tile ? kernel.options() < 2 : kernel.runtime_ns[0] < options.min_runtime_ns) continue;
    const std::string program(kernel.program);
    by_program[program].push_back({predicted[i], {kernel.runtime_ns.begin(), kernel.runtime_ns.end()}});
    families[program] = kernel.family;
  }
  if (by_program.empty())
    throw Error(
        "no kernel to measure predictions on", "data set",
        tile ? "tile data need two options per kernel" : "all kernels are shorter than the least run time that counts");
  Evaluation evaluation;
  for (const auto& [program, ranked] : by_program) {
    ProgramScore score = tile ? score_tile(ranked, predicts_runtime) : score_fusion(ranked);
    score.program = program;
    score.family = families[program];
    score.kernels = static_cast<int64_t>(ranked.size());
    for (const RankedKernel& kernel : ranked) score.options += static_cast<int64_t>(kernel.runtime_ns.size());
    evaluation.programs.push_back(score);
  }
  summarise(evaluation.programs, &ProgramScore::ape_top1, evaluation.ape_top1, evaluation.ape_top1_median);
  summarise(evaluation.programs, &ProgramScore::ape_top10, evaluation.ape_top10, evaluation.ape_top10_median);
  summarise(evaluation.programs, &ProgramScore::mape, evaluation.mape, evaluation.mape_median);
  summarise(evaluation.programs, &ProgramScore::tau, evaluation.tau, evaluation.tau_median);
  summarise(evaluation.programs, &ProgramScore::distinct_tau, evaluation.distinct_tau, evaluation.distinct_tau_median);
  summarise(evaluation.programs, &ProgramScore::sum_error, evaluation.sum_error, evaluation.sum_error_median);
  evaluation.ape_top1_geometric = geometric_mean_of(evaluation.programs, &ProgramScore::ape_top1);
  evaluation.ape_top10_geometric = geometric_mean_of(evaluation.programs, &ProgramScore::ape_top10);
  evaluation.mape_geometric = geometric_mean_of(evaluation.programs, &ProgramScore::mape);
  evaluation.sum_error_geometric = geometric_mean_of(evaluation.programs, &ProgramScore::sum_error);
  return evaluation;
}

namespace {

ProgramScore score_of(double ape_top1, double ape_top10, double mape, double sum_error) {
  ProgramScore score;
  score.ape_top1 = ape_top1;
  score.ape_top10 = ape_top10;
  score.mape = mape;
  score.sum_error = sum_error;
  return score;
}

}  // namespace

ProgramScore Evaluation::mean() const {
  ProgramScore score = score_of(ape_top1, ape_top10, mape, sum_error);
  score.tau = tau, score.distinct_tau = distinct_tau;
  return score;
}

ProgramScore Evaluation::median() const {
  ProgramScore score = score_of(ape_top1_median, ape_top10_median, mape_median, sum_error_median);
  score.tau = tau_median, score.distinct_tau = distinct_tau_median;
  return score;
}

ProgramScore Evaluation::geometric_mean() const {
  return score_of(ape_top1_geometric, ape_top10_geometric, mape_geometric, sum_error_geometric);
}

nlohmann::json to_json(const Evaluation& e) {
  nlohmann::json rows = nlohmann::json::array();
  for (const ProgramScore& p : e.programs)
    rows.push_back({{"program", p.program},
                    {"family", p.family},
                    {"kernels", p.kernels},
                    {"options", p.options},
                    {"ape_top1", p.ape_top1},
                    {"ape_top10", p.ape_top10},
                    {"mape", p.mape},
                    {"kendall_tau", p.tau}});
  return {{"programs", rows},
          {"mean", {{"ape_top1", e.ape_top1}, {"ape_top10", e.ape_top10}, {"mape", e.mape}, {"kendall_tau", e.tau}}},
          {"median",
           {{"ape_top1", e.ape_top1_median},
            {"ape_top10", e.ape_top10_median},
            {"mape", e.mape_median},
            {"kendall_tau", e.tau_median}}}};
}

std::vector<KernelView> thin_out(const std::vector<KernelView>& views, int64_t kernels, int64_t options,
                                 KernelStorage& storage) {
  const auto all = static_cast<int64_t>(views.size());
  const int64_t count = std::min(all, kernels);
  std::vector<KernelView> thinned;
  storage.tiles.reserve(storage.tiles.size() + count);  // the spans below point into these vectors
  storage.runtimes.reserve(storage.runtimes.size() + count);
  for (int64_t i = 0; i < count; ++i) {
    KernelView view = views[i * all / count];
    const int64_t width = view.options() ? static_cast<int64_t>(view.tiles.size()) / view.options() : 0;
    if (view.options() > options) {
      std::vector<float>& tiles = storage.tiles.emplace_back();
      std::vector<double>& runtimes = storage.runtimes.emplace_back();
      for (int64_t o = 0; o < options; ++o) {
        const int64_t from = o * view.options() / options;
        runtimes.push_back(view.runtime_ns[from]);
        tiles.insert(tiles.end(), view.tiles.begin() + from * width, view.tiles.begin() + (from + 1) * width);
      }
      view.tiles = tiles;
      view.runtime_ns = runtimes;
      view.default_option = -1;
    }
    thinned.push_back(view);
  }
  return thinned;
}

}  // namespace hone::cost
