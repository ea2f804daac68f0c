#include "go/go_graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "features/opcodes.h"

namespace hone::go {

namespace {

struct Levels {
  std::vector<double> seconds, transfer;  // [nodes]: mean over devices, and over pairs of devices
  std::vector<double> early, late;        // [nodes]: longest path before the node, and from its start to the end
  double longest = 0, total = 0;
};

double mean_transfer_seconds(const sim::Topology& topology, double bytes) {
  if (topology.size() < 2 || bytes <= 0) return 0;
  double sum = 0;
  for (int32_t from = 0; from < topology.size(); ++from)
    for (int32_t to = 0; to < topology.size(); ++to) sum += topology.transfer_seconds(from, to, bytes);
  return sum / (topology.size() * (topology.size() - 1.0));
}

Levels levels_of(const sim::Simulator& simulator, const NeighbourLists& producers, const NeighbourLists& users) {
  const sim::TaskGraph& graph = simulator.graph();
  const int32_t nodes = graph.size(), devices = simulator.topology().size();
  Levels levels{std::vector<double>(nodes), std::vector<double>(nodes), std::vector<double>(nodes),
                std::vector<double>(nodes)};
  for (int32_t v = 0; v < nodes; ++v) {
    if (graph.ops[v].kind == sim::OpKind::Input) continue;
    for (int32_t d = 0; d < devices; ++d) levels.seconds[v] += simulator.op_seconds(v, d) / devices;
    levels.transfer[v] = mean_transfer_seconds(simulator.topology(), graph.ops[v].output_bytes);
    levels.total += levels.seconds[v];
    for (int32_t e = producers.begin[v]; e < producers.begin[v + 1]; ++e) {
      const int32_t u = producers.node[e];
      levels.early[v] = std::max(levels.early[v], levels.early[u] + levels.seconds[u]);
    }
  }
  for (int32_t v = nodes - 1; v >= 0; --v) {
    double after = 0;
    for (int32_t e = users.begin[v]; e < users.begin[v + 1]; ++e) after = std::max(after, levels.late[users.node[e]]);
    levels.late[v] = levels.seconds[v] + after;
    levels.longest = std::max(levels.longest, levels.late[v]);
  }
  return levels;
}

NeighbourLists lists_of(const sim::Neighbours& neighbours) { return {neighbours.offset, neighbours.list}; }

float squashed(double value) { return static_cast<float>(value / (1 + std::abs(value))); }

float scaled_log(double value, double scale) { return static_cast<float>(std::log1p(std::max(value, 0.0)) / scale); }

void fill_numbers(const sim::Simulator& simulator, const GoGraph& go, const Levels& levels, int32_t v, double memory,
                  float* row) {
  const sim::TaskGraph& graph = simulator.graph();
  const sim::Op& op = graph.ops[v];
  const double longest = std::max(levels.longest, 1e-30), total = std::max(levels.total, 1e-30);
  double read = 0, most_reads = 0;
  for (int32_t e = go.producers.begin[v]; e < go.producers.begin[v + 1]; ++e)
    read += graph.ops[go.producers.node[e]].output_bytes;
  const sim::Neighbours& users = simulator.consumers();
  for (int32_t e = users.offset[v]; e < users.offset[v + 1]; ++e)
    most_reads = std::max(most_reads, graph.edges[users.edge[e]].reads);
  const std::optional<double> gain = simulator.fusion_gain(v, 0);
  int at = 0;
  row[at++] = scaled_log(op.flops, 25);
  row[at++] = scaled_log(op.output_bytes, 20);
  row[at++] = scaled_log(read, 20);
  row[at++] = scaled_log(levels.seconds[v] * graph.size() / total, 5);
  row[at++] = static_cast<float>(std::sqrt(levels.seconds[v] / total));
  row[at++] = scaled_log(go.producers.begin[v + 1] - go.producers.begin[v], 4);
  row[at++] = scaled_log(go.users.begin[v + 1] - go.users.begin[v], 4);
  row[at++] = static_cast<float>(levels.early[v] / longest);
  row[at++] = static_cast<float>(levels.late[v] / longest);
  row[at++] = static_cast<float>(1 - (levels.early[v] + levels.late[v]) / longest);
  row[at++] = op.is_output ? 1.0f : 0.0f;
  row[at++] = scaled_log(levels.seconds[v] > 0 ? levels.transfer[v] / levels.seconds[v] : 0, 5);
  for (size_t i = 0; i < 4; ++i)
    row[at++] = i < op.dims.size() ? scaled_log(static_cast<double>(op.dims[op.dims.size() - 1 - i]), 10) : 0.0f;
  row[at + static_cast<int>(op.kind)] = 1;
  at += sim::kOpKinds;
  row[at++] = scaled_log(memory, 2);
  row[at++] = static_cast<float>(go.devices) / 8;
  row[at++] = gain ? 1.0f : 0.0f;
  row[at++] = gain ? squashed(*gain / std::max(levels.seconds[v], 1e-30)) : 0.0f;
  row[at++] = gain ? squashed(*gain * graph.size() / total) : 0.0f;
  row[at++] = scaled_log(most_reads, 10);
  static_assert(16 + sim::kOpKinds + 6 == kGoNodeNumbers);
}

// Ranks nodes by ascending path to the end; of equal nodes the later one in the graph is less urgent.
std::vector<int32_t> ranks_of(const std::vector<double>& late) {
  std::vector<int32_t> order(late.size()), rank(late.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int32_t a, int32_t b) { return late[a] != late[b] ? late[a] < late[b] : a > b; });
  for (size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<int32_t>(i);
  return rank;
}

// Shares of the neighbours' bytes on each device, into column `column`.
void fill_shares(const sim::TaskGraph& graph, const NeighbourLists& lists, bool producers,
                 const std::vector<int32_t>& device, int64_t devices, int column, float* out) {
  std::vector<double> share(devices);
  for (int32_t v = 0; v < graph.size(); ++v) {
    std::fill(share.begin(), share.end(), 0.0);
    double total = 0;
    for (int32_t e = lists.begin[v]; e < lists.begin[v + 1]; ++e) {
      const int32_t u = lists.node[e];
      if (graph.ops[u].kind == sim::OpKind::Input) continue;
      const double weight = 1 + (producers ? graph.ops[u].output_bytes : graph.ops[v].output_bytes);
      share[device[u]] += weight;
      total += weight;
    }
    if (total <= 0) continue;
    for (int64_t d = 0; d < devices; ++d)
      out[(v * devices + d) * kGoDeviceNumbers + column] = static_cast<float>(share[d] / total);
  }
}

// Into the last column: how much later the operands of each operation would arrive on a device than on the best one, in
// mean kernel times of the simulated step. HEFT minimises this arrival time (Topcuoglu et al. 2002, eq. 9).
void fill_delays(const sim::Simulator& simulator, const GoGraph& go, const sim::StepTrace& trace,
                 const sim::StepReport& report, float* out) {
  const sim::TaskGraph& graph = simulator.graph();
  const int64_t devices = go.devices;
  std::vector<double> there(graph.ops.size() * devices, 0), end(graph.ops.size(), -1), arrival(devices);
  std::vector<int32_t> on(graph.ops.size(), 0);
  double busy = 0;
  for (const double seconds : report.busy_seconds) busy += seconds;
  const double mean = std::max(busy / std::max(report.kernels, 1), 1e-30);
  for (const sim::KernelRun& run : trace.runs) {
    end[trace.kernels.root[run.kernel]] = run.end;
    on[trace.kernels.root[run.kernel]] = run.device;
  }
  for (int32_t v = 0; v < graph.size(); ++v) {
    if (graph.ops[v].kind == sim::OpKind::Input) continue;
    std::fill(arrival.begin(), arrival.end(), 0.0);
    for (int32_t e = go.producers.begin[v]; e < go.producers.begin[v + 1]; ++e)
      for (int64_t d = 0; d < devices; ++d)
        arrival[d] = std::max(arrival[d], there[go.producers.node[e] * devices + d]);
    const double first = *std::min_element(arrival.begin(), arrival.end());
    for (int64_t d = 0; d < devices; ++d) {
      out[(v * devices + d) * kGoDeviceNumbers + kGoDeviceNumbers - 1] = squashed((arrival[d] - first) / mean);
      // An operation fused into its consumers is available as soon as its operands are.
      there[v * devices + d] = end[v] < 0 ? arrival[d]
                                          : end[v] + simulator.topology().transfer_seconds(
                                                         on[v], static_cast<int32_t>(d), graph.ops[v].output_bytes);
    }
  }
}

}  // namespace

GoGraph make_go_graph(const sim::Simulator& simulator) {
  const sim::TaskGraph& graph = simulator.graph();
  GoGraph go;
  go.nodes = graph.size();
  go.devices = simulator.topology().size();
  go.producers = lists_of(simulator.producers());
  go.users = lists_of(simulator.consumers());
  const Levels levels = levels_of(simulator, go.producers, go.users);
  go.urgency = ranks_of(levels.late);
  go.heaviest.assign(go.nodes, -1);
  go.opcodes.assign(go.nodes, 0);
  go.numbers.assign(go.nodes * kGoNodeNumbers, 0);
  go.cost.assign(go.nodes * go.devices, 0);
  for (std::vector<float>& mask : go.decides) mask.assign(go.nodes, 0);
  double bytes = 0, memory = 1e300;
  for (const sim::Op& op : graph.ops) bytes += op.output_bytes;
  for (const sim::Device& device : simulator.topology().devices) memory = std::min(memory, device.memory_bytes);
  const auto decides = [&](options::GoTask task) { return go.decides[static_cast<int>(task)].data(); };
  for (int32_t v = 0; v < graph.size(); ++v) {
    const sim::Op& op = graph.ops[v];
    go.opcodes[v] = features::opcode_number(op.opcode);
    fill_numbers(simulator, go, levels, v, bytes / memory, go.numbers.data() + v * kGoNodeNumbers);
    if (op.kind == sim::OpKind::Input) continue;
    decides(options::GoTask::Placement)[v] = decides(options::GoTask::Schedule)[v] = 1;
    decides(options::GoTask::Fusion)[v] = sim::fusible_producer(op) && !op.is_output ? 1.0f : 0.0f;
    double longest = 0;
    for (int32_t d = 0; d < go.devices; ++d) longest = std::max(longest, simulator.op_seconds(v, d));
    for (int32_t d = 0; d < go.devices; ++d)
      go.cost[v * go.devices + d] = static_cast<float>(simulator.op_seconds(v, d) / longest);
    double most = -1;
    for (int32_t e = go.producers.begin[v]; e < go.producers.begin[v + 1]; ++e) {
      const int32_t u = go.producers.node[e];
      if (graph.ops[u].kind == sim::OpKind::Input || graph.ops[u].output_bytes <= most) continue;
      most = graph.ops[u].output_bytes;
      go.heaviest[v] = u;
    }
  }
  return go;
}

sim::Plan plan_of(const GoGraph& graph, const GoActions& actions, const options::GoOptions& options,
                  const std::array<bool, options::kGoTasks>& plain) {
  sim::Plan plan;
  const auto of = [&](options::GoTask task) -> const std::vector<int32_t>& { return actions[static_cast<int>(task)]; };
  if (!plain[static_cast<int>(options::GoTask::Placement)]) plan.device = of(options::GoTask::Placement);
  if (!plain[static_cast<int>(options::GoTask::Fusion)]) plan.fusion = of(options::GoTask::Fusion);
  if (plain[static_cast<int>(options::GoTask::Schedule)]) return plan;
  const int32_t nodes = static_cast<int32_t>(graph.nodes);
  plan.schedule.resize(graph.nodes);
  for (int32_t v = 0; v < nodes; ++v) plan.schedule[v] = of(options::GoTask::Schedule)[v] * nodes + graph.urgency[v];
  return plan;
}

GoState observe(sim::Simulator& simulator, const GoGraph& graph, const GoActions& actions, const sim::Plan& plan) {
  sim::StepTrace trace;
  const sim::StepReport report = simulator.run(plan, &trace);
  const double step = std::max(report.step_seconds, 1e-30);
  GoState state;
  state.actions = actions;
  state.numbers.assign(graph.nodes * kGoStateNumbers, 0);
  float* numbers = state.numbers.data();
  for (const sim::KernelRun& run : trace.runs) {
    float* row = numbers + static_cast<int64_t>(trace.kernels.root[run.kernel]) * kGoStateNumbers;
    row[0] = static_cast<float>(run.start / step);
    row[1] = static_cast<float>(run.end / step);
    row[2] = 1;
  }
  for (const int32_t kernel : trace.critical_path)
    numbers[static_cast<int64_t>(trace.kernels.root[kernel]) * kGoStateNumbers + 3] = 1;
  const std::vector<int32_t>& device = actions[static_cast<int>(options::GoTask::Placement)];
  state.device_numbers.assign(graph.nodes * graph.devices * kGoDeviceNumbers, 0);
  float* out = state.device_numbers.data();
  double busy = 0;
  for (const double seconds : report.busy_seconds) busy += seconds / step / static_cast<double>(graph.devices);
  for (int64_t v = 0; v < graph.nodes; ++v)
    for (int64_t d = 0; d < graph.devices; ++d) {
      float* row = out + (v * graph.devices + d) * kGoDeviceNumbers;
      row[0] = device[v] == d ? 1.0f : 0.0f;
      row[3] = static_cast<float>(report.busy_seconds[d] / step - busy);
      row[4] = static_cast<float>(std::min(report.peak_bytes[d] / simulator.topology().devices[d].memory_bytes, 4.0));
      row[5] = graph.cost[v * graph.devices + d];
    }
  fill_shares(simulator.graph(), graph.producers, true, device, graph.devices, 1, out);
  fill_shares(simulator.graph(), graph.users, false, device, graph.devices, 2, out);
  fill_delays(simulator, graph, trace, report, out);
  return state;
}

}  // namespace hone::go
