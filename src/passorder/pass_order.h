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
  // Tried first, each once from the untouched program (fixed_orders.h); their best state is a start of the search, too.
  std::vector<std::vector<std::string>> first_orders;
  double first_share = 1;   // of the budget and of the applications, at which they end
  double measure_ms = 200;  // of one measured run time
  // An order is returned only if duels do not show it slower than default XLA on the untouched program (order_guard.h).
  bool guard = true;
  double confirm_ms = 1000;  // of the last duel of what is returned, in a process of its own
  std::function<bool()> should_stop = [] { return false; };  // also between the duels of the guard
  std::function<void(const std::string& best)> on_progress = [](const std::string&) {};

  void validate() const;  // throws Error
};

struct OrderReport {
  PassStatePtr initial;
  Ordered xla;  // XLA's own order; its state and that of `found` have costs in the report of order_passes
  // Not worse than xla in the metric, except where the guard refuses xla itself; verified if any is.
  Ordered found;
  int64_t evaluations = 0, applications = 0;  // orders evaluated; passes run for them
  int64_t rejected = 0;                       // better orders whose outputs could not be verified
  std::vector<Ordered> slower;                // those that the guard refused, best first, with the duel that showed it
  int64_t skipped = 0;                        // better orders with the kernels of one of these
  double seconds = 0;                         // of the search
};

// The search without measuring and checking; sets the report except `found`. `policy` is for the strategy ppo, which first
// takes its best passes from the untouched program (zero-shot) and from XLA's own order, then tries the few best passes in
// each state before it takes one, and then repeats both with sampled passes.
OrderReport search_orders(PassSession& session, const std::string& program, const OrderOptions& options,
                          OrderCandidates& candidates, OrderPolicy* policy = nullptr);

// Searches, measures XLA's order and the best candidates against the untouched program, and takes the first with verified
// outputs that the guard lets pass. Throws Error for options that do not fit, and without `predicted` for its metric. The
// program is loaded into the session.
OrderReport order_passes(PassSession& session, const std::string& program, const OrderOptions& options,
                         OrderPolicy* policy = nullptr, PredictedTimes* predicted = nullptr);

}  // namespace hone::passorder
