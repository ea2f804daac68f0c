// How long devices take to exchange data.
#pragma once

#include <string>
#include <vector>

#include "sim/topology.h"

namespace hone::sharding {

struct Collective {
  std::string kind;          // as HLO calls it
  double bytes = 0;          // of its operands on one device
  std::vector<int> devices;  // one of the groups that exchange at once
  double runs = 1;
};

// Of one run. Around a ring in the order of the group: an all-reduce takes 2 (n - 1) steps with an n-th of the bytes each, a
// reduce-scatter and an all-to-all n - 1 of these, an all-gather n - 1 with all bytes, a permutation one. A step takes as long as
// its slowest pair of neighbours (Thakur et al. 2005). Groups do not disturb each other.
double collective_seconds(const Collective& collective, const sim::Topology& topology);

// The devices of this machine's CPU as XLA divides it: one thread each, each with its share of the memory.
sim::Topology host_devices(int count, double memory_bytes);

}  // namespace hone::sharding
