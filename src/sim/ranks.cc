#include <algorithm>
#include <numeric>

#include "sim/planners.h"

namespace hone::sim {

namespace {

// Seconds of a transfer over idle links as latency + bytes * per_byte, averaged over pairs of devices.
struct MeanTransfer {
  double latency = 0, per_byte = 0;
};

MeanTransfer mean_transfer(const Topology& topology) {
  MeanTransfer mean;
  const int32_t devices = topology.size();
  if (devices < 2) return mean;
  constexpr double kBytes = 1e6;
  for (int32_t a = 0; a < devices; ++a)
    for (int32_t b = 0; b < devices; ++b) {
      if (a == b) continue;
      const double latency = topology.transfer_seconds(a, b, 0);
      mean.latency += latency;
      mean.per_byte += (topology.transfer_seconds(a, b, kBytes) - latency) / kBytes;
    }
  const double pairs = static_cast<double>(devices) * (devices - 1);
  return {mean.latency / pairs, mean.per_byte / pairs};
}

}  // namespace

std::vector<double> upward_ranks(const Simulator& simulator, const std::vector<int32_t>& placement) {
  const TaskGraph& graph = simulator.graph();
  const Topology& topology = simulator.topology();
  const MeanTransfer mean = mean_transfer(topology);
  const Neighbours& consumers = simulator.consumers();
  std::vector<double> ranks(graph.ops.size(), 0);
  for (int32_t i = graph.size() - 1; i >= 0; --i) {
    const Op& op = graph.ops[i];
    double after = 0;
    for (int32_t e = consumers.offset[i]; e < consumers.offset[i + 1]; ++e) {
      const int32_t to = consumers.list[e];
      double transfer = 0;
      if (op.kind != OpKind::Input)
        transfer = placement.empty() ? mean.latency + mean.per_byte * op.output_bytes
                   : placement[i] == placement[to]
                       ? 0
                       : topology.transfer_seconds(placement[i], placement[to], op.output_bytes);
      after = std::max(after, transfer + ranks[to]);
    }
    double own = 0;
    if (placement.empty()) {
      for (int32_t d = 0; d < topology.size(); ++d) own += simulator.op_seconds(i, d) / topology.size();
    } else {
      own = simulator.op_seconds(i, placement[i]);
    }
    ranks[i] = own + after;
  }
  return ranks;
}

std::vector<int32_t> priorities_of(const std::vector<double>& ranks) {
  std::vector<int32_t> order(ranks.size()), priority(ranks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return ranks[a] > ranks[b]; });
  for (size_t place = 0; place < order.size(); ++place)
    priority[order[place]] = static_cast<int32_t>(ranks.size() - place);
  return priority;
}

}  // namespace hone::sim
