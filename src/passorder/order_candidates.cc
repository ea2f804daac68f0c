#include "passorder/order_candidates.h"

#include <iterator>

#include "base/error.h"
#include "base/suggest.h"
#include "graph/strategy.h"

namespace hone::passorder {
namespace {

constexpr const char* kMetricNames[] = {"operations", "cost", "run-time", "predicted-run-time"};

}  // namespace

std::vector<std::string> order_metric_names() { return {std::begin(kMetricNames), std::end(kMetricNames)}; }

const char* order_metric_name(OrderMetric metric) { return kMetricNames[static_cast<int>(metric)]; }

OrderMetric order_metric_from_name(const std::string& name) {
  for (size_t metric = 0; metric < std::size(kMetricNames); ++metric)
    if (name == kMetricNames[metric]) return static_cast<OrderMetric>(metric);
  throw unknown_word("metric", name, order_metric_names(), "--metric");
}

double metric_of(const Ordered& ordered, OrderMetric metric) {
  if (metric == OrderMetric::Operations) return static_cast<double>(ordered.state->instructions);
  if (metric == OrderMetric::Cost) return ordered.state->cost();
  if (metric == OrderMetric::PredictedTime) return ordered.predicted_ns > 0 ? ordered.predicted_ns : kFailed;
  return ordered.duel.verified && ordered.duel.ratio > 0 ? 1 / ordered.duel.ratio : kFailed;
}

OrderCandidates::OrderCandidates(PassSession& session, std::string program, OrderMetric metric, double measure_ms,
                                 PredictedTimes* predicted)
    : session_(session), program_(std::move(program)), metric_(metric), measure_ms_(measure_ms), predicted_(predicted) {
  if (metric == OrderMetric::PredictedTime && !predicted) throw InternalError("no model to predict run times with");
}

void OrderCandidates::keep(size_t most, size_t equal) {
  most_ = most;
  equal_ = equal;
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

double OrderCandidates::value_of(Ordered& ordered) {
  if (metric_ == OrderMetric::RunTime) return measured(ordered);
  if (metric_ == OrderMetric::PredictedTime)
    ordered.predicted_ns = predicted_->of(program_, *ordered.state, ordered.passes).ns;
  return metric_of(ordered, metric_);
}

double OrderCandidates::offer(Ordered& ordered) {
  const double value = value_of(ordered);
  if (!(value < kFailed)) return value;
  if (kept_.size() >= most_ && value >= std::prev(kept_.end())->first) return value;
  for (auto& [other, kept] : kept_) {
    if (kept.state->fingerprint != ordered.state->fingerprint) continue;
    if (ordered.passes.size() < kept.passes.size()) kept = ordered;
    return value;
  }
  if (kept_.count(value) >= equal_) return value;
  kept_.emplace(value, ordered);
  if (kept_.size() > most_) kept_.erase(std::prev(kept_.end()));
  return value;
}

}  // namespace hone::passorder
