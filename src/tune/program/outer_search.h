// The decisions that come before all others: in which order passes run ahead of XLA's own pipeline, and how arrays are laid
// out. They change which kernels there are, so whole programs are compared, and everything else is searched on the best.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "passorder/pass_walk.h"
#include "tune/program/layout_tuner.h"
#include "tune/program/tune_options.h"

namespace hone::tune {

// The key of the one decision about passes; its value are their names, separated by commas.
inline constexpr char kPassOrderKey[] = "order";

struct PassProposals {
  double budget_s = 4;  // of the search; a known order costs no search
  int64_t max_applications = 600;
  int most = 4;  // orders
  uint64_t seed = 0;
  std::function<bool()> should_stop = [] { return false; };
};

// Orders worth measuring, the likeliest first and each another program: XLA's own simplification run once more ahead of the
// pipeline, and those that leave least computation and least instructions of all that the policy comes across (or, without
// one, a greedy search). Nothing is run. Throws what the session throws; Error for a program it cannot read.
std::vector<Alternative> propose_passes(passorder::PassSession& session, const std::string& bytes,
                                        const std::string& name, passorder::OrderPolicy* policy,
                                        const PassProposals& options);

// The choices a ranker likes best of `ranked` samples; without one, of each of the instructions that move most bytes one
// other layout. Distinct, never XLA's own.
std::vector<Alternative> propose_layouts(const LayoutSpace& layouts, const LayoutRanker& ranker, int ranked, int most,
                                         uint64_t seed);

}  // namespace hone::tune
