// How long devices take to exchange data.
#pragma once

#include <string>
#include <vector>

#include "sim/topology.h"

namespace hone::sharding {

struct Collective {
  std::string kind;          // as HLO calls it
  double bytes = 0;          // of its operands on one device; 0: no exchange, but another meeting of host devices
  std::vector<int> devices;  // one of the groups that exchange at once; on a mesh the others lie as it does
  double runs = 1;
};

// A group and those beside it on a mesh: each begins at the first device in none yet, and its members are as far from that as in the
// first. A group without room is left out.
std::vector<std::vector<int>> groups_beside(const std::vector<int>& group, int devices);

// Of one run. Around a ring in the order of the group: an all-reduce takes 2 (n - 1) steps with an n-th of the bytes each, a
// reduce-scatter and an all-to-all n - 1 of these, an all-gather n - 1 with all bytes, a permutation one. A step takes as long as
// its slowest pair of neighbours (Thakur et al. 2005); all groups take it at once, and pairs share the links that are on the routes of
// several. Host devices (a topology with threads) copy at once, and wait for each other twice whatever the number of steps.
double collective_seconds(const Collective& collective, const sim::Topology& topology);

// The devices of this machine's CPU as XLA divides it: one thread each, each with its share of the memory. Pairs share nothing: what
// was measured is two devices that exchange both ways.
sim::Topology host_devices(int count, double memory_bytes);

}  // namespace hone::sharding
