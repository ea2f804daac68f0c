// Searches for an order of XLA's passes that leaves less of one program than XLA's own order does.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rl/pass_session.h"

namespace hone::rl {

// What is to become small: instructions, FLOPs + 2 transcendentals, or the measured run time.
enum class OrderMetric : int8_t { Operations = 0, Cost, RunTime };
const char* order_metric_name(OrderMetric metric);            // "operations", "cost", "run-time"
OrderMetric order_metric_from_name(const std::string& name);  // throws Error

// XLA:CPU's own target-independent simplification as one row of the table of passes: what orders are compared with.
inline constexpr char kDefaultOrder[] = "simplification";

struct OrderOptions {
  std::string strategy = "genetic";  // random, greedy, beam, anneal, genetic (search/strategies.h)
  OrderMetric metric = OrderMetric::Operations;
  double budget_s = 30;          // of the search; measuring and checking the result come on top
  int64_t max_applications = 0;  // passes run, known ones included; 0 = no limit
  uint64_t seed = 0;
  int64_t length = 45;              // most passes of an order
  std::vector<std::string> passes;  // to choose from; empty = the default action set
  double measure_ms = 200;          // of one measured run time
  std::function<bool()> should_stop = [] { return false; };
  std::function<void(const std::string& best)> on_progress = [](const std::string&) {};

  void validate() const;  // throws Error
};

struct Ordered {
  PassHistory passes;
  PassStatePtr state;
  PassDuel duel;  // against the untouched program
};

struct OrderReport {
  PassStatePtr initial;
  Ordered xla;                                // the default's order
  Ordered found;                              // never worse than xla in the metric; verified unless nothing is
  int64_t evaluations = 0, applications = 0;  // orders looked at; passes run for them
  int64_t rejected = 0;                       // better orders whose outputs could not be verified
  double seconds = 0;                         // of the search
};

// Throws Error for options that do not fit. The program is loaded into the session.
OrderReport order_passes(PassSession& session, const std::string& program, const OrderOptions& options);

}  // namespace hone::rl
