#include "cost/layout_metrics.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "cost/metrics.h"

namespace hone::cost {

namespace {

// Counts of values below a rank (Fenwick 1994).
class RankCounts {
 public:
  explicit RankCounts(size_t ranks) : tree_(ranks + 1) {}
  void add(size_t rank) {
    for (size_t i = rank + 1; i < tree_.size(); i += i & (~i + 1)) ++tree_[i];
  }
  int64_t below(size_t rank) const {
    int64_t count = 0;
    for (size_t i = rank; i > 0; i -= i & (~i + 1)) count += tree_[i];
    return count;
  }

 private:
  std::vector<int64_t> tree_;
};

FrequentLayouts::Kind kind_of(const options::ConfigGraph& graph, int32_t node) {
  constexpr int kShapeDims = 21;
  const float* features = &graph.node_feat[int64_t{node} * options::kNodeFeatures];
  int rank = 0;
  while (rank < options::kLayoutAxes && features[kShapeDims + rank] > 0) ++rank;
  return {graph.node_opcode[node], rank};
}

}  // namespace

double ordered_pair_accuracy(std::span<const double> predicted, std::span<const double> runtime_ns) {
  if (predicted.size() != runtime_ns.size()) throw InternalError("ordered_pair_accuracy: different lengths");
  const size_t n = predicted.size();
  std::vector<double> values(predicted.begin(), predicted.end());
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::vector<size_t> order(n), rank(n);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = 0; i < n; ++i)
    rank[i] = std::lower_bound(values.begin(), values.end(), predicted[i]) - values.begin();
  std::sort(order.begin(), order.end(), [&](size_t i, size_t j) { return runtime_ns[i] < runtime_ns[j]; });
  RankCounts faster(values.size());  // predictions of the configurations that are faster than the current ones
  double right = 0, pairs = 0;
  for (size_t first = 0; first < n;) {
    size_t last = first;
    while (last < n && runtime_ns[order[last]] == runtime_ns[order[first]]) ++last;
    for (size_t i = first; i < last; ++i) right += static_cast<double>(faster.below(rank[order[i]]));
    pairs += static_cast<double>(first) * static_cast<double>(last - first);
    for (size_t i = first; i < last; ++i) faster.add(rank[order[i]]);
    first = last;
  }
  return pairs > 0 ? right / pairs : 0;
}

LayoutScore score_layouts(std::span<const double> predicted, std::span<const double> runtime_ns) {
  if (predicted.empty()) throw Error("no configurations to rank");
  LayoutScore score;
  score.configurations = static_cast<int64_t>(predicted.size());
  score.tau = kendall_tau(predicted, runtime_ns);  // throws for NaN and different lengths
  score.pair_accuracy = ordered_pair_accuracy(predicted, runtime_ns);
  const RankedKernel ranked{{predicted.begin(), predicted.end()}, {runtime_ns.begin(), runtime_ns.end()}};
  const double best = *std::min_element(runtime_ns.begin(), runtime_ns.end());
  if (best <= 0) throw Error("a run time is not positive");
  score.slowdown_top1 = best_of_top(ranked, 1) / best - 1;
  score.slowdown_top10 = best_of_top(ranked, 10) / best - 1;
  score.slowdown_top100 = best_of_top(ranked, 100) / best - 1;
  score.tile_score = 2 - best_of_top(ranked, 5) / best;
  return score;
}

LayoutScore mean_of(std::span<const LayoutScore> scores) {
  LayoutScore mean;
  if (scores.empty()) return mean;
  const auto n = static_cast<double>(scores.size());
  for (const LayoutScore& score : scores) {
    mean.configurations += score.configurations;
    mean.tau += score.tau / n;
    mean.pair_accuracy += score.pair_accuracy / n;
    mean.slowdown_top1 += score.slowdown_top1 / n;
    mean.slowdown_top10 += score.slowdown_top10 / n;
    mean.slowdown_top100 += score.slowdown_top100 / n;
    mean.tile_score += score.tile_score / n;
  }
  return mean;
}

nlohmann::json to_json(const LayoutScore& score) {
  return {{"configurations", score.configurations}, {"kendall_tau", score.tau},
          {"pair_accuracy", score.pair_accuracy},   {"slowdown_top1", score.slowdown_top1},
          {"slowdown_top10", score.slowdown_top10}, {"slowdown_top100", score.slowdown_top100},
          {"tile_score", score.tile_score}};
}

void FrequentLayouts::fit(const options::ConfigGraph& graph, std::span<const int32_t> configs,
                          std::span<const double> runtime_ns) {
  if (configs.size() != runtime_ns.size()) throw InternalError("FrequentLayouts: different lengths");
  if (configs.empty()) return;
  std::vector<size_t> order(configs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) { return runtime_ns[i] < runtime_ns[j]; });
  const size_t fast = std::max<size_t>(1, order.size() / 10);
  for (size_t i = 0; i < fast; ++i) {
    const auto row = graph.config(configs[order[i]]);
    for (int64_t k = 0; k < graph.configurable(); ++k) ++counts_[kind_of(graph, graph.config_nodes[k])][row[k]];
  }
}

std::map<FrequentLayouts::Kind, uint64_t> FrequentLayouts::chosen() const {
  std::map<Kind, uint64_t> best;
  for (const auto& [kind, layouts] : counts_)
    best[kind] = std::max_element(layouts.begin(), layouts.end(), [](const auto& a, const auto& b) {
                   return a.second < b.second;  // the first of equal ones
                 })->first;
  return best;
}

FrequentLayouts FrequentLayouts::from(const std::map<Kind, uint64_t>& chosen) {
  FrequentLayouts rule;
  for (const auto& [kind, layout] : chosen) rule.counts_[kind][layout] = 1;
  return rule;
}

std::vector<double> FrequentLayouts::predict(const options::ConfigGraph& graph,
                                             std::span<const int32_t> configs) const {
  const std::map<Kind, uint64_t> best = chosen();
  std::vector<const uint64_t*> wanted;  // per configurable node; null = an unseen kind
  for (int32_t node : graph.config_nodes) {
    const auto found = best.find(kind_of(graph, node));
    wanted.push_back(found == best.end() ? nullptr : &found->second);
  }
  std::vector<double> scores;
  for (int32_t config : configs) {
    const auto row = graph.config(config);
    int64_t others = 0;
    for (size_t k = 0; k < wanted.size(); ++k) others += wanted[k] != nullptr && row[k] != *wanted[k];
    scores.push_back(static_cast<double>(others));
  }
  return scores;
}

}  // namespace hone::cost
