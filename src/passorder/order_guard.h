// Chooses which of the best orders of a search is returned: fewer operations are not always faster, since XLA:CPU simplifies and
// fuses again behind any order.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "passorder/order_candidates.h"

namespace hone::passorder {

struct GuardOptions {
  bool on = true;  // off: the best with verified outputs, however slow
  OrderMetric metric = OrderMetric::Operations;
  double measure_ms = 200, confirm_ms = 1000;                // of the runs of a first and of a last duel
  std::function<bool()> should_stop = [] { return false; };  // asked before each duel
};

struct GuardChoice {
  Ordered found;                // with its last duel
  std::vector<Ordered> slower;  // refused, best first, each with the duel that decided
  int64_t skipped = 0;          // candidates with the kernels of one of these
  int64_t rejected = 0;         // whose outputs could not be verified
};

// What a duel with default XLA on the untouched program shows of an order.
bool surely_slower(const PassDuel& duel);  // by more than 1 %, the whole interval
// The ratio is below what the metric allows, or the whole interval below 1. Allowed is 0.99, and 1 where run time is the metric:
// default XLA itself is a candidate then.
bool seems_slower(const PassDuel& duel, OrderMetric metric = OrderMetric::Operations);

// The first of `candidates`, which are sorted by the metric, that is better than XLA's own order, whose duel this sets, has
// verified outputs and is neither surely slower in a first duel nor seems slower in a last one, in a process of its own: than the
// untouched program, and than XLA's own order, whose ratio to the untouched program is measured beside. Eight are refused at
// most; then it is XLA's own order, and if that is slower than the untouched program, that, which is what default XLA compiles.
//
// With the metric RunTime none is returned, also without the guard, that its last duel shows slower than the untouched program.
// After `should_stop` the first duels decide: at most the best candidate is measured yet, if none was.
GuardChoice choose_order(PassSession& session, const std::string& program, const GuardOptions& options, Ordered& xla,
                         std::vector<Ordered> candidates);

}  // namespace hone::passorder
