#include <fcntl.h>
#include <metis.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/error.h"
#include "sim/planners.h"

namespace hone::sim {

namespace {

constexpr double kWeights = 1e9;  // sum of a graph's weights; METIS uses 32-bit integers

idx_t weight(double value, double sum) {
  return sum > 0 ? std::max<idx_t>(1, static_cast<idx_t>(value / sum * kWeights)) : 1;
}

// The operations except inputs in the form of a METIS graph: every edge in both directions.
struct MetisGraph {
  std::vector<int32_t> op;  // [vertices]
  std::vector<idx_t> offset, neighbour, edge_weight, vertex_weight;
};

MetisGraph metis_graph(const Simulator& simulator) {
  const TaskGraph& graph = simulator.graph();
  MetisGraph out;
  std::vector<idx_t> vertex(graph.ops.size(), -1);
  double seconds = 0, bytes = 0;
  for (int32_t i = 0; i < graph.size(); ++i) {
    if (graph.ops[i].kind == OpKind::Input) continue;
    vertex[i] = static_cast<idx_t>(out.op.size());
    out.op.push_back(i);
    seconds += simulator.op_seconds(i, 0);
  }
  for (const Edge& edge : graph.edges)
    if (vertex[edge.from] >= 0) bytes += graph.ops[edge.from].output_bytes;
  out.offset.push_back(0);
  for (int32_t i : out.op) {
    out.vertex_weight.push_back(weight(simulator.op_seconds(i, 0), seconds));
    const auto add = [&](const Neighbours& side, bool consumers) {
      for (int32_t e = side.offset[i]; e < side.offset[i + 1]; ++e) {
        if (vertex[side.list[e]] < 0) continue;
        out.neighbour.push_back(vertex[side.list[e]]);
        out.edge_weight.push_back(weight(graph.ops[consumers ? i : side.list[e]].output_bytes, bytes));
      }
    };
    add(simulator.producers(), false);
    add(simulator.consumers(), true);
    out.offset.push_back(static_cast<idx_t>(out.neighbour.size()));
  }
  return out;
}

// METIS prints warnings about graphs it cannot bisect to standard output, which is reserved for results.
class SilentOutput {
 public:
  SilentOutput() : saved_(::dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0) return;
    ::dup2(nowhere, STDOUT_FILENO);
    ::close(nowhere);
  }
  ~SilentOutput() {
    std::fflush(stdout);
    if (saved_ < 0) return;
    ::dup2(saved_, STDOUT_FILENO);
    ::close(saved_);
  }

 private:
  int saved_ = -1;
};

}  // namespace

// Balanced parts with little data between them (Karypis and Kumar 1998), one per device; ignores order and memory.
Plan plan_metis(Simulator& simulator, const StrategyOptions& options) {
  Plan plan = options.base;
  if (!options.tasks.placement) return plan;
  MetisGraph graph = metis_graph(simulator);
  auto vertices = static_cast<idx_t>(graph.op.size());
  idx_t parts = simulator.topology().size(), constraints = 1, cut = 0;
  plan.device.assign(simulator.graph().ops.size(), 0);
  if (parts < 2 || vertices == 0) return plan;
  std::vector<real_t> shares;  // by speed, so that devices finish together
  real_t sum = 0;
  for (int32_t d = 0; d < simulator.topology().size(); ++d) {
    double seconds = 0;
    for (int32_t i : graph.op) seconds += simulator.op_seconds(i, d);
    shares.push_back(static_cast<real_t>(seconds > 0 ? 1 / seconds : 1));
    sum += shares.back();
  }
  for (real_t& share : shares) share /= sum;
  idx_t settings[METIS_NOPTIONS];
  METIS_SetDefaultOptions(settings);
  settings[METIS_OPTION_SEED] = static_cast<idx_t>(options.seed % 0x7fffffff);
  std::vector<idx_t> part(vertices, 0);
  const SilentOutput silent;
  const int status = METIS_PartGraphKway(&vertices, &constraints, graph.offset.data(), graph.neighbour.data(),
                                         graph.vertex_weight.data(), nullptr, graph.edge_weight.data(), &parts,
                                         shares.data(), nullptr, settings, &cut, part.data());
  if (status != METIS_OK) throw RunError("METIS failed with status " + std::to_string(status), simulator.graph().name);
  for (size_t v = 0; v < graph.op.size(); ++v) plan.device[graph.op[v]] = static_cast<int32_t>(part[v]);
  return plan;
}

}  // namespace hone::sim
