// What a policy, or a search that has learned nothing, takes away from one program: the numbers that Ganai et al. 2022
// compare (section 5), each with the same number of passes run.
#pragma once

#include <functional>
#include <string>

#include "passorder/pass_order.h"

namespace hone::passorder {

// XLA:CPU's whole pipeline before layout assignment as one row of the table of passes.
inline constexpr char kPreLayout[] = "pre-layout";

struct OrderTrialOptions {
  // ppo (a policy), random and greedy walk from the untouched program, or from where `start` says. Other strategies search
  // whole orders, among them XLA's own: no fair rivals, but a bound on what can be found.
  std::string strategy = "ppo";
  std::string start = "untouched";  // or "default" (behind XLA's own order), "both" (in turn, as `hone order` does)
  int64_t walks = 10;               // their first is a policy's best guess, zero-shot
  int64_t length = 45;              // passes of a walk; walks * length passes are run at most
  uint64_t seed = 0;
  double measure_ms = 0;  // of each run time; 0 = nothing is run
  std::function<bool()> should_stop = [] { return false; };

  void validate() const;  // throws Error
};

// Instructions, of all computations. An order is cut off after the best state on its way.
struct OrderTrial {
  int64_t initial = 0;           // I, the untouched program
  int64_t own = 0;               // D, after XLA's own simplification
  int64_t pre_layout = 0;        // after XLA's whole pipeline before layouts
  int64_t first = 0;             // R after the first walk
  Ordered best;                  // R after all of them
  int64_t best_pre_layout = 0;   // after that pipeline behind the best order
  int64_t applications = 0;      // passes run, those known included
  PassDuel own_duel, best_duel;  // against the untouched program, where measured
};

// (I - R) / (I - D): what was taken away, over what XLA's own order takes away. Nothing taken away counts as half an
// instruction, for the sake of geometric means. 0 where XLA's own order takes nothing away: there is no ratio.
double reduction_ratio(int64_t initial, int64_t own, int64_t left);

// The program is loaded into the session. `policy` goes with the strategy ppo.
OrderTrial try_order(PassSession& session, const std::string& program, const OrderTrialOptions& options,
                     OrderPolicy* policy = nullptr);

}  // namespace hone::passorder
