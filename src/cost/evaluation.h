// Metrics of predictions on a part of a data set, per program as in the tables of Kaufman et al. 2021. Without torch: for any
// model, also the analytical one.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace hone::cost {

struct ProgramScore {
  std::string program, family;
  int64_t kernels = 0, options = 0;
  double ape_top1 = 0, ape_top10 = 0;  // %, of tile data
  double mape = 0;                     // %, of networks that predict run times, over kernels of at least min_runtime_ns
  double tau = 0;                      // tile: mean within kernels; fusion: over the program's kernels
  double distinct_tau = 0;             // tile: over pairs of options that can be told apart (metrics.h)
  double sum_error = 0;                // fusion: %, of the sum of the program's kernels
};

struct Evaluation {
  std::vector<ProgramScore> programs;                     // by name; programs without kernels that count are omitted
  double ape_top1 = 0, ape_top10 = 0, mape = 0, tau = 0;  // means over programs
  double ape_top1_median = 0, ape_top10_median = 0, mape_median = 0, tau_median = 0;
  double distinct_tau = 0, distinct_tau_median = 0, sum_error = 0, sum_error_median = 0;
  // Geometric means over programs, as in Table 2 of the paper; an error below 0.1 % counts as 0.1 %.
  double ape_top1_geometric = 0, ape_top10_geometric = 0, mape_geometric = 0, sum_error_geometric = 0;
  // The averages over programs, in the fields of one; in geometric means those of errors.
  ProgramScore mean() const;
  ProgramScore median() const;
  ProgramScore geometric_mean() const;
  // The validation metric of training, lower = better: the mean Tile-Size APE, or the mean MAPE.
  double objective(const std::string& task) const { return task == "tile" ? ape_top1 : mape; }
};

struct EvaluateOptions {
  std::string task = "tile";
  double min_runtime_ns = 5000;  // fusion: shorter kernels are ignored
};

// `predicted[i]` belongs to `kernels[i]`: one number per option. Tile metrics skip kernels with one option. Throws Error
// if no kernel is left.
Evaluation evaluate(const std::vector<KernelView>& kernels, const std::vector<std::vector<double>>& predicted,
                    bool predicts_runtime, const EvaluateOptions& options);

nlohmann::json to_json(const Evaluation& evaluation);

// At most `kernels` of the views, spread evenly, and of each at most `options`, spread evenly; `storage` holds the copied
// arrays.
struct KernelStorage {
  std::vector<std::vector<float>> tiles;
  std::vector<std::vector<double>> runtimes;
};
std::vector<KernelView> thin_out(const std::vector<KernelView>& views, int64_t kernels, int64_t options,
                                 KernelStorage& storage);

}  // namespace hone::cost
