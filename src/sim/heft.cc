#include <algorithm>
#include <limits>
#include <utility>

#include "sim/planners.h"

namespace hone::sim {

namespace {

struct Slot {
  double start = 0, end = 0;
};

// The start of a slot of `seconds` on a device at or after `ready`: in the first gap that is long enough (Topcuoglu et al. 2002,
// insertion-based policy). `busy` is sorted by time. Returns the start and the index of the slot.
std::pair<double, size_t> first_gap(const std::vector<Slot>& busy, double ready, double seconds) {
  size_t at = std::lower_bound(busy.begin(), busy.end(), ready, [](const Slot& s, double t) { return s.end <= t; }) -
              busy.begin();
  double start = ready;
  for (; at < busy.size() && busy[at].start < start + seconds; ++at) start = std::max(start, busy[at].end);
  return {start, at};
}

}  // namespace

// Heterogeneous earliest finish time: operations by upward rank, each on the device where it finishes first.
Plan plan_heft(Simulator& simulator, const StrategyOptions& options) {
  Plan plan = options.base;
  const TaskGraph& graph = simulator.graph();
  const Topology& topology = simulator.topology();
  const Neighbours& producers = simulator.producers();
  const std::vector<int32_t> priority = priorities_of(upward_ranks(simulator));
  if (options.tasks.placement) {
    std::vector<int32_t> order(graph.ops.size());
    for (int32_t i = 0; i < graph.size(); ++i) order[graph.ops.size() - priority[i]] = i;
    plan.device.assign(graph.ops.size(), 0);
    std::vector<double> end(graph.ops.size(), 0);
    std::vector<std::vector<Slot>> busy(topology.size());
    for (int32_t i : order) {
      if (graph.ops[i].kind == OpKind::Input) continue;
      Slot best{0, std::numeric_limits<double>::infinity()};
      size_t best_at = 0;
      for (int32_t d = 0; d < topology.size(); ++d) {
        double ready = 0;
        for (int32_t e = producers.offset[i]; e < producers.offset[i + 1]; ++e) {
          const int32_t from = producers.list[e];
          if (graph.ops[from].kind == OpKind::Input) continue;
          const double transfer = plan.device[from] == d
                                      ? 0
                                      : topology.transfer_seconds(plan.device[from], d, graph.ops[from].output_bytes);
          ready = std::max(ready, end[from] + transfer);
        }
        const double seconds = simulator.op_seconds(i, d);
        const auto [start, at] = first_gap(busy[d], ready, seconds);
        if (start + seconds < best.end) {
          best = {start, start + seconds};
          best_at = at;
          plan.device[i] = d;
        }
      }
      end[i] = best.end;
      auto& slots = busy[plan.device[i]];
      slots.insert(slots.begin() + static_cast<std::ptrdiff_t>(best_at), best);
    }
  }
  if (options.tasks.schedule) plan.schedule = priority;
  return plan;
}

}  // namespace hone::sim
