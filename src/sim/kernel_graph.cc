#include <algorithm>

#include "sim/planners.h"
#include "sim/roofline.h"

namespace hone::sim {

namespace {

// The kernels of a fused graph as a graph of operations, inputs included.
struct KernelGraph {
  TaskGraph graph;
  Costs costs;
  std::vector<int32_t> op;  // [ops of graph]: the original operation whose result is written, or the input
};

KernelGraph kernel_graph(const Simulator& simulator, const Kernels& kernels) {
  const TaskGraph& whole = simulator.graph();
  const Device& device = simulator.topology().devices[0];
  const std::vector<double> read = solo_read_bytes(whole);
  KernelGraph out;
  out.graph.name = whole.name;
  std::vector<int32_t> place(whole.ops.size(), -1);
  for (int32_t i = 0; i < whole.size(); ++i) {
    const int32_t k = kernels.kernel_of[i];
    if (k < 0 && whole.ops[i].kind != OpKind::Input) continue;  // fused away
    place[i] = out.graph.size();
    out.op.push_back(i);
    Op op = whole.ops[i];
    double roofline = 0, seconds = 0;  // of the members as separate kernels
    if (k >= 0) {
      op.flops = op.special = 0;
      for (int32_t m = kernels.member_offset[k]; m < kernels.member_offset[k + 1]; ++m) {
        const int32_t member = kernels.member[m];
        op.flops += kernels.evaluations[m] * whole.ops[member].flops;
        op.special += kernels.evaluations[m] * whole.ops[member].special;
        roofline += roofline_seconds(whole.ops[member], read[member], device);
        seconds += simulator.op_seconds(member, 0) - device.launch_seconds;
      }
      for (int32_t r = kernels.read_offset[k]; r < kernels.read_offset[k + 1]; ++r) {
        const int32_t from = kernels.read[r];
        const double bytes = whole.ops[from].output_bytes;
        out.graph.edges.push_back({place[from], place[i], bytes > 0 ? kernels.read_bytes[r] / bytes : 1});
      }
    }
    out.costs.factor.push_back(roofline > 0 && seconds > 0 ? seconds / roofline : 1);
    out.graph.ops.push_back(std::move(op));
  }
  return out;
}

}  // namespace

Plan plan_kernels(Planner planner, Simulator& simulator, const StrategyOptions& options) {
  const std::vector<int32_t>& fusion = options.base.fusion;
  if (std::none_of(fusion.begin(), fusion.end(), [](int32_t p) { return p > 0; })) return planner(simulator, options);
  const TaskGraph& whole = simulator.graph();
  const Kernels kernels = fuse(whole, fusion, options.base.device, simulator.rules());
  KernelGraph small = kernel_graph(simulator, kernels);
  Simulator small_simulator(std::move(small.graph), simulator.topology(), std::move(small.costs), simulator.rules());
  StrategyOptions small_options = options;
  small_options.base = {};
  const auto gather = [&](const std::vector<int32_t>& list, std::vector<int32_t>& into) {
    if (!list.empty())
      for (int32_t op : small.op) into.push_back(list[op]);
  };
  gather(options.base.device, small_options.base.device);
  gather(options.base.schedule, small_options.base.schedule);
  const Plan decided = planner(small_simulator, small_options);

  Plan plan = options.base;
  // Every operation takes the decision of the first kernel that computes it. One with kernels on several devices is no
  // longer fused.
  const auto spread = [&](const std::vector<int32_t>& list, std::vector<int32_t>& into) {
    if (list.empty()) return;
    into.assign(whole.ops.size(), 0);
    for (size_t s = small.op.size(); s-- > 0;) {
      const int32_t k = kernels.kernel_of[small.op[s]];
      if (k < 0) continue;
      for (int32_t m = kernels.member_offset[k]; m < kernels.member_offset[k + 1]; ++m)
        into[kernels.member[m]] = list[s];
    }
  };
  spread(decided.device, plan.device);
  spread(decided.schedule, plan.schedule);
  return plan;
}

}  // namespace hone::sim
