// The decisions that come before all others: the order of passes that run ahead of XLA's own pipeline, and the layouts
// of arrays. They change which kernels exist, so whole programs are compared, and all other decisions are searched for
// the best.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "passorder/pass_walk.h"
#include "tune/program/layout_tuner.h"
#include "tune/program/tune_options.h"

namespace hone::tune {

// The key of the one decision about passes; its value is their names, separated by commas.
inline constexpr char kPassOrderKey[] = "order";

struct PassProposals {
  double budget_s = 4;  // of the search for orders
  int64_t max_applications = 600;
  int most = 4;  // orders
  // Walked before the search of each metric, in at most half of its budget (passorder/fixed_orders.h).
  std::vector<std::vector<std::string>> first_orders;
  uint64_t seed = 0;
  std::function<bool()> should_stop = [] { return false; };
};

// Orders worth measuring, the most promising first, each of which gives a different program: XLA's own simplification
// run once more ahead of the pipeline, and the orders that leave the least computation and the fewest instructions of
// those that the policy (or, without one, a greedy search) visits. Nothing is run. Throws what the session throws;
// Error for a program it cannot read.
std::vector<Alternative> propose_passes(passorder::PassSession& session, const std::string& bytes,
                                        const std::string& name, passorder::OrderPolicy* policy,
                                        const PassProposals& options);

// The choices that the ranker scores best among `ranked` samples; without a ranker, one other layout for each of the
// instructions that move the most bytes. The choices are distinct and differ from XLA's own.
std::vector<Alternative> propose_layouts(const LayoutSpace& layouts, const LayoutRanker& ranker, int ranked, int most,
                                         uint64_t seed);

}  // namespace hone::tune
