// Searches for an order of XLA's passes that reduces one program further than XLA's own order.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "passorder/order_candidates.h"
#include "passorder/pass_walk.h"

namespace hone::passorder {

// XLA:CPU's target-independent simplification as one row of the table of passes: the baseline of orders.
inline constexpr char kDefaultOrder[] = "simplification";

struct OrderOptions {
  // ppo: a trained policy of any agent; greedy: pass by pass, across plateaus; random, beam, anneal, genetic: searches of
  // whole orders (search/strategies.h).
  std::string strategy = "genetic";
  OrderMetric metric = OrderMetric::Operations;
  double budget_s = 30;          // of the search, without measuring and checking the result
  int64_t max_applications = 0;  // passes run, known ones included; 0 = no limit
  uint64_t seed = 0;
  int64_t length = 45;              // most passes of an order, without those of XLA's own if a walk starts from it
  std::vector<std::string> passes;  // to choose from; empty = the default action set. A policy has its own
  double measure_ms = 200;          // of one measured run time
  std::function<bool()> should_stop = [] { return false; };
  std::function<void(const std::string& best)> on_progress = [](const std::string&) {};

  void validate() const;  // throws Error
};

struct OrderReport {
  PassStatePtr initial;
  Ordered xla;                                // XLA's own order
  Ordered found;                              // never worse than xla in the metric; verified if any is
  int64_t evaluations = 0, applications = 0;  // orders evaluated; passes run for them
  int64_t rejected = 0;                       // better orders whose outputs could not be verified
  double seconds = 0;                         // of the search
};

// The search without measuring and checking; sets the report except `found`. `policy` is for the strategy ppo, which first
// takes its best passes from the untouched program (zero-shot) and from XLA's own order, then tries the few best passes in
// each state before it takes one, and then repeats both with sampled passes.
OrderReport search_orders(PassSession& session, const std::string& program, const OrderOptions& options,
                          OrderCandidates& candidates, OrderPolicy* policy = nullptr);

// Searches, measures XLA's order and the best candidates against the untouched program, and takes the first with verified
// outputs. Throws Error for options that do not fit. The program is loaded into the session.
OrderReport order_passes(PassSession& session, const std::string& program, const OrderOptions& options,
                         OrderPolicy* policy = nullptr);

}  // namespace hone::passorder
