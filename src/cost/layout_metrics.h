// Metrics of a ranking of layout configurations (Khizbullin et al. 2024, section 2.5.2; TpuGraphs' own metrics), and the
// simplest ranker. Plain arithmetic, without torch.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "options/config_graph.h"

namespace hone::cost {

// Share of the pairs of different run time that the prediction ranks in the same strict order; 0 if there is no pair.
double ordered_pair_accuracy(std::span<const double> predicted, std::span<const double> runtime_ns);

// Predictions: lower = faster, any scale. All of one graph's configurations, or a held-out part of them.
struct LayoutScore {
  int64_t configurations = 0;
  double tau = 0;                                                     // Kendall's tau-b
  double pair_accuracy = 0;                                           // ordered_pair_accuracy
  double slowdown_top1 = 0, slowdown_top10 = 0, slowdown_top100 = 0;  // best of the top k / best - 1
  double tile_score = 0;                                              // 2 - best of the top 5 / best (equation 10)
};
// Throws InternalError for spans of different length, Error for NaN and for empty spans.
LayoutScore score_layouts(std::span<const double> predicted, std::span<const double> runtime_ns);
LayoutScore mean_of(std::span<const LayoutScore> scores);  // of every metric; configurations are summed
nlohmann::json to_json(const LayoutScore& score);

// The most-frequent-layout rule: for nodes of one kind (opcode and rank of the output) it predicts the layout that is most
// frequent in the fastest tenth of the training configurations; a configuration's score is the number of nodes with another.
class FrequentLayouts {
 public:
  // Counts the fastest tenth (at least one) of the given configurations.
  void fit(const options::ConfigGraph& graph, std::span<const int32_t> configs, std::span<const double> runtime_ns);
  std::vector<double> predict(const options::ConfigGraph& graph, std::span<const int32_t> configs) const;

  using Kind = std::pair<int, int>;         // opcode, rank
  std::map<Kind, uint64_t> chosen() const;  // packed axes; ties: the smaller number
  static FrequentLayouts from(const std::map<Kind, uint64_t>& chosen);

 private:
  std::map<Kind, std::map<uint64_t, int64_t>> counts_;
};

}  // namespace hone::cost
