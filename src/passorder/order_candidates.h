// Orders of one program's passes by what they leave: the few best that a search has come across.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "passorder/pass_session.h"

namespace hone::passorder {

// What is to become small: instructions, FLOPs + 2 transcendentals, or the measured run time.
enum class OrderMetric : int8_t { Operations = 0, Cost, RunTime };
const char* order_metric_name(OrderMetric metric);            // "operations", "cost", "run-time"
OrderMetric order_metric_from_name(const std::string& name);  // throws Error

// The passes that changed something, and what they made of the program.
struct Ordered {
  PassHistory passes;
  PassStatePtr state;
  PassDuel duel;  // against the untouched program; empty where nothing was measured
};

// The metric of an order; run times are relative to the untouched program's, infinite where that is not verified.
double metric_of(const Ordered& ordered, OrderMetric metric);

class OrderCandidates {
 public:
  OrderCandidates(PassSession& session, std::string program, OrderMetric metric, double measure_ms)
      : session_(session), program_(std::move(program)), metric_(metric), measure_ms_(measure_ms) {}

  // The metric of an order, which becomes a candidate if it is among the best. Run times are measured, once per state.
  double offer(Ordered& ordered);
  OrderMetric metric() const { return metric_; }
  // A number that needs no clock: the metric, for run times the instructions instead.
  double countable(const PassState& state) const;
  double best() const;                      // infinite without any
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
