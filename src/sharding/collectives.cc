#include "sharding/collectives.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace hone::sharding {

namespace {

// Of XLA's collectives inside one process, measured with two devices (docs/results/sharding.md).
constexpr double kHostLatency = 25e-6, kHostBytesPerSecond = 3e9;

}  // namespace

double collective_seconds(const Collective& collective, const sim::Topology& topology) {
  const auto n = static_cast<double>(collective.devices.size());
  if (n < 2) return 0;
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
  double slowest = 0;
  for (size_t i = 0; i < collective.devices.size(); ++i) {
    const int from = collective.devices[i], to = collective.devices[(i + 1) % collective.devices.size()];
    slowest = std::max(slowest, topology.transfer_seconds(from, to, bytes));
  }
  return steps * slowest;
}

sim::Topology host_devices(int count, double memory_bytes) {
  sim::Topology out;
  out.name = "host devices";
  out.links.push_back({"memory", kHostBytesPerSecond, kHostLatency});
  for (int i = 0; i < count; ++i) {
    sim::Device device;
    device.name = "host" + std::to_string(i);
    device.memory_bytes = memory_bytes / count;
    out.devices.push_back(device);
  }
  out.routes.assign(static_cast<size_t>(count) * static_cast<size_t>(count), {0});
  for (int i = 0; i < count; ++i) out.routes[static_cast<size_t>(i) * static_cast<size_t>(count + 1)].clear();
  return out;
}

}  // namespace hone::sharding
