#include "passorder/order_candidates.h"

#include "base/error.h"
#include "base/suggest.h"
#include "graph/strategy.h"

namespace hone::passorder {
namespace {

constexpr size_t kCandidates = 8;

}  // namespace

const char* order_metric_name(OrderMetric metric) {
  constexpr const char* kNames[] = {"operations", "cost", "run-time"};
  return kNames[static_cast<int>(metric)];
}

OrderMetric order_metric_from_name(const std::string& name) {
  for (const OrderMetric metric : {OrderMetric::Operations, OrderMetric::Cost, OrderMetric::RunTime})
    if (name == order_metric_name(metric)) return metric;
  throw unknown_word("metric", name, {"operations", "cost", "run-time"}, "--metric");
}

double metric_of(const Ordered& ordered, OrderMetric metric) {
  if (metric == OrderMetric::Operations) return static_cast<double>(ordered.state->instructions);
  if (metric == OrderMetric::Cost) return ordered.state->cost();
  return ordered.duel.verified && ordered.duel.ratio > 0 ? 1 / ordered.duel.ratio : kFailed;
}

double OrderCandidates::countable(const PassState& state) const {
  return metric_ == OrderMetric::Cost ? state.cost() : static_cast<double>(state.instructions);
}

double OrderCandidates::best() const { return kept_.empty() ? kFailed : kept_.begin()->first; }

std::vector<Ordered> OrderCandidates::best_first() const {
  std::vector<Ordered> list;
  for (const auto& [value, ordered] : kept_) list.push_back(ordered);
  return list;
}

double OrderCandidates::measured(Ordered& ordered) {
  const auto [known, fresh] = run_times_.try_emplace(ordered.state->fingerprint);
  if (fresh) known->second = session_.measure(program_, ordered.passes, measure_ms_);
  ordered.duel = known->second;
  return metric_of(ordered, metric_);
}

double OrderCandidates::offer(Ordered& ordered) {
  const double value = metric_ == OrderMetric::RunTime ? measured(ordered) : metric_of(ordered, metric_);
  if (!(value < kFailed)) return value;
  if (kept_.size() >= kCandidates && value >= std::prev(kept_.end())->first) return value;
  for (auto& [other, kept] : kept_) {
    if (kept.state->fingerprint != ordered.state->fingerprint) continue;
    if (ordered.passes.size() < kept.passes.size()) kept = ordered;
    return value;
  }
  kept_.emplace(value, ordered);
  if (kept_.size() > kCandidates) kept_.erase(std::prev(kept_.end()));
  return value;
}

}  // namespace hone::passorder
