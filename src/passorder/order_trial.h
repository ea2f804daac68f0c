// The number of instructions that a policy or an untrained search removes from one program: the comparison of Ganai et al.
// 2022 (section 5), each with the same number of passes run.
#pragma once

#include <functional>
#include <string>

#include "passorder/pass_order.h"

namespace hone::passorder {

// XLA:CPU's whole pipeline before layout assignment as one row of the table of passes.
inline constexpr char kPreLayout[] = "pre-layout";

struct OrderTrialOptions {
  // ppo (a policy), random and greedy are walks from `start`. Other strategies search whole orders, including XLA's own: not
  // a fair comparison, but a bound on the possible result.
  std::string strategy = "ppo";
  std::string start = "untouched";  // or "default" (after XLA's own order), "both" (in turn, as `hone order` does)
  int64_t walks = 10;               // the first takes a policy's best actions (zero-shot)
  int64_t length = 45;              // passes of a walk; at most walks * length passes are run
  uint64_t seed = 0;
  double measure_ms = 0;  // of each run time; 0 = run times are not measured
  std::function<bool()> should_stop = [] { return false; };

  void validate() const;  // throws Error
};

// Numbers of instructions of all computations. An order ends at its best state.
struct OrderTrial {
  int64_t initial = 0;           // I, the untouched program
  int64_t own = 0;               // D, after XLA's own simplification
  int64_t pre_layout = 0;        // after XLA's whole pipeline before layouts
  int64_t first = 0;             // R after the first walk
  Ordered best;                  // R after all of them
  int64_t best_pre_layout = 0;   // after that pipeline, run after the best order
  int64_t applications = 0;      // passes run, known ones included
  PassDuel own_duel, best_duel;  // against the untouched program, if measured
};

// (I - R) / (I - D): the instructions removed, relative to XLA's own order. If none are removed, I - R counts as half an
// instruction, for geometric means. 0 if XLA's own order removes none, so that there is no ratio.
double reduction_ratio(int64_t initial, int64_t own, int64_t left);

// The program is loaded into the session. `policy` is for the strategy ppo only.
OrderTrial try_order(PassSession& session, const std::string& program, const OrderTrialOptions& options,
                     OrderPolicy* policy = nullptr);

}  // namespace hone::passorder
