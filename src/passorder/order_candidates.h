// The best orders of one program's passes that a search has found.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "passorder/pass_session.h"
#include "passorder/predicted_time.h"

namespace hone::passorder {

// The quantity to minimise: instructions, FLOPs + 2 transcendentals, the measured run time, or the one that the shipped model of
// kernels predicts (predicted_time.h).
enum class OrderMetric : int8_t { Operations = 0, Cost, RunTime, PredictedTime };
std::vector<std::string> order_metric_names();  // "operations", "cost", "run-time", "predicted-run-time"
const char* order_metric_name(OrderMetric metric);
OrderMetric order_metric_from_name(const std::string& name);  // throws Error

// The passes that changed something, and the resulting program.
struct Ordered {
  PassHistory passes;
  PassStatePtr state;
  PassDuel duel;            // against the untouched program; empty if not measured
  double predicted_ns = 0;  // set where the metric needs it; 0 = unknown
};

// The metric of an order; measured run times are relative to the untouched program's, infinite if not verified.
double metric_of(const Ordered& ordered, OrderMetric metric);

class OrderCandidates {
 public:
  // `predicted`: for the metric PredictedTime, which throws InternalError without it.
  OrderCandidates(PassSession& session, std::string program, OrderMetric metric, double measure_ms,
                  PredictedTimes* predicted = nullptr);

  // Keeps more than the default eight best orders, of those with equal metrics at most `equal`.
  void keep(size_t most, size_t equal);
  // Returns the metric of an order, and keeps the order if it is among the best. Run times are measured and predicted once per
  // state.
  double offer(Ordered& ordered);
  OrderMetric metric() const { return metric_; }
  // Whether an order's metric is that of its last state alone, not the least of all its states: it takes long to know.
  bool measures() const { return metric_ == OrderMetric::RunTime; }
  // The metric without measuring: instructions instead of run times.
  double countable(const PassState& state) const;
  double best() const;                      // infinite if there is none
  std::vector<Ordered> best_first() const;  // one per state

 private:
  double measured(Ordered& ordered);
  double value_of(Ordered& ordered);

  PassSession& session_;
  std::string program_;
  OrderMetric metric_;
  double measure_ms_;
  PredictedTimes* predicted_;
  size_t most_ = 8, equal_ = 8;
  std::multimap<double, Ordered> kept_;
  std::unordered_map<std::string, PassDuel> run_times_;  // by fingerprint
};

}  // namespace hone::passorder
