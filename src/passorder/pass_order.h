// Searches for an order of XLA's passes that leaves less of one program than XLA's own order does.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "passorder/order_candidates.h"
#include "passorder/pass_walk.h"

namespace hone::passorder {

// XLA:CPU's own target-independent simplification as one row of the table of passes: what orders are compared with.
inline constexpr char kDefaultOrder[] = "simplification";

struct OrderOptions {
  // ppo: a trained policy, whichever agent it is of; greedy: pass by pass over plateaus; random, beam, anneal, genetic:
  // whole orders (search/strategies.h).
  std::string strategy = "genetic";
  OrderMetric metric = OrderMetric::Operations;
  double budget_s = 30;          // of the search; measuring and checking the result come on top
  int64_t max_applications = 0;  // passes run, known ones included; 0 = no limit
  uint64_t seed = 0;
  int64_t length = 45;              // most passes of an order (on top of XLA's own, where walks begin after that)
  std::vector<std::string> passes;  // to choose from; empty = the default action set. A policy knows its own
  double measure_ms = 200;          // of one measured run time
  std::function<bool()> should_stop = [] { return false; };
  std::function<void(const std::string& best)> on_progress = [](const std::string&) {};

  void validate() const;  // throws Error
};

struct OrderReport {
  PassStatePtr initial;
  Ordered xla;                                // the default's order
  Ordered found;                              // never worse than xla in the metric; verified unless nothing is
  int64_t evaluations = 0, applications = 0;  // orders looked at; passes run for them
  int64_t rejected = 0;                       // better orders whose outputs could not be verified
  double seconds = 0;                         // of the search
};

// The search alone: no run, no check; fills the report but `found`. `policy` is for the strategy ppo, which first takes its
// best passes from the untouched program (zero-shot) and from XLA's own order, then tries the few best in each state before
// it takes one, then does both with draws instead, in turn.
OrderReport search_orders(PassSession& session, const std::string& program, const OrderOptions& options,
                          OrderCandidates& candidates, OrderPolicy* policy = nullptr);

// Searches, measures XLA's order and the best candidates against the untouched program, and takes the first whose outputs
// are right. Throws Error for options that do not fit. The program is loaded into the session.
OrderReport order_passes(PassSession& session, const std::string& program, const OrderOptions& options,
                         OrderPolicy* policy = nullptr);

}  // namespace hone::passorder
