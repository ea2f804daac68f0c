#include "sim/simulator.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "sim/roofline.h"
#include "sim/step_run.h"

namespace hone::sim {

namespace {

// The kernels that read the result of each kernel.
Neighbours readers_of(const Kernels& kernels) {
  Neighbours out;
  out.offset.assign(kernels.size() + 1, 0);
  for (int32_t op : kernels.read)
    if (kernels.kernel_of[op] >= 0) ++out.offset[kernels.kernel_of[op] + 1];
  for (size_t i = 1; i < out.offset.size(); ++i) out.offset[i] += out.offset[i - 1];
  out.list.resize(out.offset.back());
  std::vector<int32_t> next(out.offset.begin(), out.offset.end() - 1);
  for (int32_t k = 0; k < kernels.size(); ++k)
    for (int32_t i = kernels.read_offset[k]; i < kernels.read_offset[k + 1]; ++i)
      if (const int32_t from = kernels.kernel_of[kernels.read[i]]; from >= 0) out.list[next[from]++] = k;
  return out;
}

void check_inputs(const TaskGraph& graph, const Topology& topology, const Costs& costs) {
  if (topology.devices.empty()) throw Error("the topology has no device", topology.name);
  if (topology.devices.size() > 64) throw Error("more than 64 devices", topology.name);
  for (const Edge& edge : graph.edges)
    if (edge.from < 0 || edge.to >= graph.size() || edge.from >= edge.to)
      throw Error("the graph is not sorted: producers must come before consumers", graph.name);
  if (!costs.factor.empty() && costs.factor.size() != graph.ops.size())
    throw Error("there must be one cost factor per operation", graph.name);
  for (double factor : costs.factor)
    if (!(factor > 0) || !std::isfinite(factor)) throw Error("cost factors must be above zero", graph.name);
}

}  // namespace

Simulator::Simulator(TaskGraph graph, Topology topology, Costs costs, FusionRules rules, Parameters parameters)
    : state_(std::make_unique<SimulatorState>()) {
  check_inputs(graph, topology, costs);
  SimulatorState& s = *state_;
  s.graph = std::move(graph);
  s.topology = std::move(topology);
  s.costs = std::move(costs);
  s.rules = rules;
  s.parameters = parameters;
  s.updates = parameter_updates(s.graph);
  s.facts = fusion_facts(s.graph);
  s.solo_read = solo_read_bytes(s.graph);
  for (const Op& op : s.graph.ops) {
    s.result_bytes.push_back(op.output_bytes);
    s.written.push_back(written_bytes(op));
    s.is_output.push_back(op.is_output);
  }
  for (const Device& device : s.topology.devices) {
    Device nameless = device;
    nameless.name.clear();
    size_t kind = 0;
    while (kind < s.kinds.size() && !(s.kinds[kind].device == nameless)) ++kind;
    s.kind_of.push_back(static_cast<int32_t>(kind));
    if (kind < s.kinds.size()) continue;
    Kind added{nameless, std::vector<double>(s.graph.ops.size()), {}};
    for (int32_t i = 0; i < s.graph.size(); ++i) {
      added.solo[i] = s.factor(i) * roofline_seconds(s.graph.ops[i], s.solo_read[i], nameless);
      added.compute.push_back(compute_seconds(s.graph.ops[i], nameless));
    }
    s.kinds.push_back(std::move(added));
  }
  for (int32_t from = 0; from < s.topology.size(); ++from)
    for (int32_t to = 0; to < s.topology.size(); ++to) {
      s.latency.push_back(s.topology.transfer_seconds(from, to, 0));
      double slowest = std::numeric_limits<double>::infinity();
      for (int32_t link : s.topology.route(from, to))
        slowest = std::min(slowest, s.topology.links[link].bytes_per_second);
      s.bytes_per_second.push_back(slowest);
    }
  s.unfused = fuse(s.graph, s.facts, {}, {}, rules);
  s.unfused_readers = readers_of(s.unfused);
}

Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;
Simulator& Simulator::operator=(Simulator&&) noexcept = default;

StepReport Simulator::run(const Plan& plan, StepTrace* trace) {
  if (trace) *trace = {};
  return simulate(plan, {}, trace);
}

StepReport Simulator::run_within(const Plan& plan, const StepLimit& limit) { return simulate(plan, limit, nullptr); }

StepReport Simulator::simulate(const Plan& plan, const StepLimit& limit, StepTrace* trace) {
  SimulatorState& s = *state_;
  check_plan(plan, s.graph, s.topology.size());
  const bool fuses = std::any_of(plan.fusion.begin(), plan.fusion.end(), [](int32_t p) { return p > 0; });
  if (!fuses) return run_step(s, {plan, s.unfused, s.unfused_readers}, limit, trace);
  s.fused = fuse(s.graph, s.facts, plan.fusion, plan.device, s.rules);
  s.fused_readers = readers_of(s.fused);
  return run_step(s, {plan, s.fused, s.fused_readers}, limit, trace);
}

const TaskGraph& Simulator::graph() const { return state_->graph; }
const Topology& Simulator::topology() const { return state_->topology; }
const FusionRules& Simulator::rules() const { return state_->rules; }
const Neighbours& Simulator::consumers() const { return state_->facts.consumers; }
const Neighbours& Simulator::producers() const { return state_->facts.producers; }
Parameters Simulator::parameters() const { return state_->parameters; }
const std::vector<int32_t>& Simulator::updates() const { return state_->updates; }

double Simulator::op_seconds(int32_t op, int32_t device) const {
  if (state_->graph.ops[op].kind == OpKind::Input) return 0;
  const Kind& kind = state_->kinds[state_->kind_of[device]];
  return kind.device.launch_seconds + kind.solo[op];
}

double Simulator::transfer_seconds(int32_t from, int32_t to, double bytes) const {
  return state_->transfer_seconds(from, to, bytes);
}

std::optional<double> Simulator::fusion_gain(int32_t op, int32_t device) const {
  const SimulatorState& s = *state_;
  const Neighbours &users = s.facts.consumers, &operands = s.facts.producers;
  if (!(s.facts.flags[op] & FusionFacts::kProducer) || users.offset[op] == users.offset[op + 1]) return std::nullopt;
  const Kind& kind = s.kinds[s.kind_of[device]];
  double gain = kind.device.launch_seconds + kind.solo[op];
  for (int32_t e = users.offset[op]; e < users.offset[op + 1]; ++e) {
    const int32_t user = users.list[e];
    if (!(s.facts.flags[user] & FusionFacts::kConsumer)) return std::nullopt;
    const double reads = s.graph.edges[users.edge[e]].reads, share = kind.solo[op] / s.factor(op),
                 user_share = kind.solo[user] / s.factor(user);
    double bytes =
        written_bytes(s.graph.ops[user]) + s.solo_read[user] - std::min(1.0, reads) * s.graph.ops[op].output_bytes;
    for (int32_t i = operands.offset[op]; i < operands.offset[op + 1]; ++i)
      bytes +=
          std::min(1.0, reads * s.graph.edges[operands.edge[i]].reads) * s.graph.ops[operands.list[i]].output_bytes;
    const double compute = compute_seconds(s.graph.ops[user], kind.device) +
                           reads * compute_seconds(s.graph.ops[op], kind.device),
                 both = share + user_share;
    const double fused = overlapped(compute, std::max(0.0, bytes) / kind.device.bytes_per_second, kind.device.overlap) *
                         (both > 0 ? (kind.solo[op] + kind.solo[user]) / both : 1);
    gain += kind.solo[user] - fused;
  }
  return gain;
}

}  // namespace hone::sim
