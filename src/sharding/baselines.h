// Shardings by the usual rules, as choices of a space.
#pragma once

#include <string>
#include <vector>

#include "sharding/shard_space.h"

namespace hone::sharding {

struct Baseline {
  std::string name;
  Choice choice;
};

// replicated; data-parallel: the data by the batch along all axes; tensor-parallel: the weights of consecutive products by columns
// and by rows (Shoeybi et al. 2019, Megatron-LM) along all axes; fully-sharded: the data as in data-parallel, and every weight by
// its largest dimension that divides (Rajbhandari et al. 2020, ZeRO, stage 3). With two axes or more also data-tensor: the batch
// along the first axis, the weights' products along the others. Where something does not divide by all axes, it is divided by as
// many as fit; a rule that divides nothing is left out.
std::vector<Baseline> baselines(const ShardSpace& space);

}  // namespace hone::sharding
