#include "sharding/collectives.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace hone::sharding {

namespace {

// Of XLA's collectives inside one process, measured with two devices (docs/results/sharding.md).
constexpr double kHostWake = 25e-6, kHostBytesPerSecond = 3e9;
constexpr int kHostWaits = 2;            // until all are there, and until all have copied
constexpr double kHostNextArray = 3e-6;  // both waits again, of devices that have just met

using Pairs = std::vector<std::pair<int, int>>;

// Of a ring, or of a permutation, in which the two exchange.
Pairs neighbours(const std::vector<int>& group) {
  Pairs out;
  for (size_t i = 0; i < group.size(); ++i) out.emplace_back(group[i], group[(i + 1) % group.size()]);
  return out;
}

// All at once: a link on the routes of several carries their bytes one after the other.
double step_seconds(const Pairs& pairs, double bytes, const sim::Topology& topology) {
  std::vector<double> load(topology.links.size());
  for (const auto& [from, to] : pairs)
    for (const int32_t link : topology.route(from, to)) load[link] += bytes;
  double slowest = 0;
  for (const auto& [from, to] : pairs) {
    double latency = 0, moving = 0;
    for (const int32_t link : topology.route(from, to)) {
      latency += topology.links[link].latency_seconds;
      moving = std::max(moving, load[link] / topology.links[link].bytes_per_second);
    }
    slowest = std::max(slowest, latency + moving);
  }
  return slowest;
}

}  // namespace

std::vector<std::vector<int>> groups_beside(const std::vector<int>& group, int devices) {
  std::vector<std::vector<int>> out = {group};
  std::vector<bool> taken(devices);
  const int first = *std::min_element(group.begin(), group.end());
  for (const int device : group) taken.at(device) = true;
  for (int at = 0; at < devices; ++at) {
    std::vector<int> next;
    for (const int device : group) next.push_back(at + device - first);
    if (std::any_of(next.begin(), next.end(), [&](int device) { return device >= devices || taken[device]; })) continue;
    for (const int device : next) taken[device] = true;
    out.push_back(std::move(next));
  }
  return out;
}

double collective_seconds(const Collective& collective, const sim::Topology& topology) {
  const auto n = static_cast<double>(collective.devices.size());
  if (n < 2) return 0;
  if (collective.bytes == 0) return topology.threads ? kHostNextArray : 0;
  const double waits = topology.threads ? kHostWaits * topology.threads->wake_seconds : 0;
  const bool scatters =
      collective.kind == "reduce-scatter" || collective.kind == "all-to-all" || collective.kind == "ragged-all-to-all";
  const bool permutes = collective.kind == "collective-permute" || collective.kind == "collective-broadcast";
  double steps = 2 * (n - 1), bytes = collective.bytes / n;
  if (scatters) steps = n - 1;
  if (collective.kind == "all-gather") steps = n - 1, bytes = collective.bytes;
  if (permutes) steps = 1, bytes = collective.bytes;
  for (const int device : collective.devices)
    if (device < 0 || device >= topology.size())
      throw RunError("a collective of a device that the mesh does not have", std::to_string(device));
  Pairs pairs;
  for (const auto& group : groups_beside(collective.devices, topology.size()))
    for (const auto& pair : neighbours(group)) pairs.push_back(pair);
  return waits + steps * step_seconds(pairs, bytes, topology);
}

sim::Topology host_devices(int count, double memory_bytes) {
  sim::Topology out;
  out.name = "host devices";
  out.threads = sim::HostThreads{.wake_seconds = kHostWake};
  for (int i = 0; i < count; ++i) {
    sim::Device device;
    device.name = "host" + std::to_string(i);
    device.memory_bytes = memory_bytes / count;
    out.devices.push_back(device);
  }
  for (int from = 0; from < count; ++from)
    for (int to = 0; to < count; ++to) {
      auto& route = out.routes.emplace_back();
      if (from == to) continue;
      route.push_back(static_cast<int32_t>(out.links.size()));
      out.links.push_back({"memory", kHostBytesPerSecond, 0});
    }
  return out;
}

}  // namespace hone::sharding
