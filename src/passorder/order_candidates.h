// The best orders of one program's passes that a search has found.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "passorder/pass_session.h"

namespace hone::passorder {

// The quantity to minimise: instructions, FLOPs + 2 transcendentals, or the measured run time.
enum class OrderMetric : int8_t { Operations = 0, Cost, RunTime };
const char* order_metric_name(OrderMetric metric);            // "operations", "cost", "run-time"
OrderMetric order_metric_from_name(const std::string& name);  // throws Error

// The passes that changed something, and the resulting program.
struct Ordered {
  PassHistory passes;
  PassStatePtr state;
  PassDuel duel;  // against the untouched program; empty if not measured
};

// The metric of an order; run times are relative to the untouched program's, infinite if not verified.
double metric_of(const Ordered& ordered, OrderMetric metric);

class OrderCandidates {
 public:
  OrderCandidates(PassSession& session, std::string program, OrderMetric metric, double measure_ms)
      : session_(session), program_(std::move(program)), metric_(metric), measure_ms_(measure_ms) {}

  // Returns the metric of an order, and keeps the order if it is among the best. Run times are measured once per state.
  double offer(Ordered& ordered);
  OrderMetric metric() const { return metric_; }
  // The metric without measuring: instructions instead of run times.
  double countable(const PassState& state) const;
  double best() const;                      // infinite if there is none
  std::vector<Ordered> best_first() const;  // one per state

 private:
  double measured(Ordered& ordered);

  PassSession& session_;
  std::string program_;
  OrderMetric metric_;
  double measure_ms_;
  std::multimap<double, Ordered> kept_;
  std::unordered_map<std::string, PassDuel> run_times_;  // by fingerprint
};

}  // namespace hone::passorder
