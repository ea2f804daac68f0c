#include "sim/simulator.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "base/error.h"
#include "sim/roofline.h"

namespace hone::sim {

namespace {

constexpr int32_t kNone = -1;

struct Event {
  double time = 0;
  int32_t kernel = kNone;    // that ends, or whose result has been transferred
  int32_t transfer = kNone;  // index into State::copies; kNone for the end of a kernel
};
// A heap with the earliest event on top; equal times in the order of what they name, so that runs repeat exactly.
bool later(const Event& a, const Event& b) {
  if (a.time != b.time) return a.time > b.time;
  if (a.kernel != b.kernel) return a.kernel > b.kernel;
  return a.transfer > b.transfer;
}

// The result of a kernel on a device that did not compute it.
struct Copy {
  int32_t kernel = 0, device = 0;
  int32_t readers = 0;   // not finished yet
  int32_t next = kNone;  // of the same kernel
};

struct Kind {
  Device device;
  std::vector<double> solo;  // [ops]: roofline seconds times factor, launch excluded
};

}  // namespace

struct Simulator::State {
  TaskGraph graph;
  Topology topology;
  Costs costs;
  FusionRules rules;
  FusionFacts facts;
  std::vector<Kind> kinds;        // distinct devices
  std::vector<int32_t> kind_of;   // [devices]
  std::vector<double> solo_read;  // [ops]
  Kernels unfused;                // what most runs use
  Neighbours unfused_readers;     // [kernels]: kernels that read its result

  // Of one run; kept for the next.
  Kernels fused;
  Neighbours fused_readers;
  std::vector<int32_t> device, pending, references, first_copy, device_kernel, cause;
  std::vector<double> ready_at, started;
  std::vector<uint64_t> resident;  // [ops]: devices that hold an input
  std::vector<std::vector<uint64_t>> queue;
  std::vector<double> memory, link_free;
  std::vector<Event> events;
  std::vector<Copy> copies;
  std::vector<int32_t> idle_or_changed;

  double factor(int32_t op) const { return costs.factor.empty() ? 1.0 : costs.factor[op]; }

  double kernel_seconds(const Kernels& kernels, int32_t k, const Kind& kind) const {
    const int32_t first = kernels.member_offset[k], last = kernels.member_offset[k + 1];
    if (last - first == 1) return kind.device.launch_seconds + kind.solo[kernels.root[k]];
    double compute = 0, bytes = written_bytes(graph.ops[kernels.root[k]]), shares = 0, weighted = 0;
    for (int32_t i = first; i < last; ++i) {
      const int32_t op = kernels.member[i];
      compute += kernels.evaluations[i] * compute_seconds(graph.ops[op], kind.device);
      const double share = kind.solo[op] / factor(op);
      shares += share;
      weighted += kind.solo[op];
    }
    for (int32_t i = kernels.read_offset[k]; i < kernels.read_offset[k + 1]; ++i) bytes += kernels.read_bytes[i];
    const double roofline = overlapped(compute, bytes / kind.device.bytes_per_second, kind.device.overlap);
    return kind.device.launch_seconds + roofline * (shares > 0 ? weighted / shares : 1);
  }
};

namespace {

// Which kernels read the result of each kernel.
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

// One run over the state's buffers.
class Run {
 public:
  Run(Simulator::State& state, const Plan& plan, const Kernels& kernels, const Neighbours& readers, StepTrace* trace)
      : s_(state), plan_(plan), kernels_(kernels), readers_(readers), trace_(trace) {}

  StepReport go() {
    prepare();
    for (int32_t k = 0; k < kernels_.size(); ++k)
      if (s_.pending[k] == 0) make_ready(k, kNone);
    dispatch();
    while (!s_.events.empty()) {
      now_ = s_.events.front().time;
      ++batch_;
      while (!s_.events.empty() && s_.events.front().time == now_) {
        std::pop_heap(s_.events.begin(), s_.events.end(), later);
        const Event event = s_.events.back();
        s_.events.pop_back();
        if (event.transfer == kNone)
          end_kernel(event.kernel);
        else
          end_transfer(event.transfer);
      }
      dispatch();
    }
    return finish();
  }

 private:
  void prepare() {
    const int32_t devices = s_.topology.size(), n = kernels_.size();
    report_.busy_seconds.assign(devices, 0);
    report_.link_seconds.assign(s_.topology.links.size(), 0);
    report_.peak_bytes.assign(devices, 0);
    report_.kernels = n;
    s_.device.resize(n);
    s_.pending.assign(n, 0);
    s_.references.assign(n, 0);
    s_.first_copy.assign(n, kNone);
    s_.device_kernel.assign(devices, kNone);
    s_.memory.assign(devices, 0);
    s_.link_free.assign(s_.topology.links.size(), 0);
    s_.queue.resize(devices);
    for (auto& queue : s_.queue) queue.clear();
    s_.events.clear();
    s_.copies.clear();
    s_.idle_or_changed.clear();
    s_.resident.assign(s_.graph.ops.size(), 0);
    if (trace_) {
      s_.cause.assign(n, kNone);
      s_.ready_at.assign(n, 0);
      s_.started.assign(n, 0);
      last_on_.assign(devices, kNone);
    }
    for (int32_t k = 0; k < n; ++k) {
      const int32_t device = plan_.device.empty() ? 0 : plan_.device[kernels_.root[k]];
      s_.device[k] = device;
      for (int32_t i = kernels_.read_offset[k]; i < kernels_.read_offset[k + 1]; ++i) {
        const int32_t op = kernels_.read[i];
        if (kernels_.kernel_of[op] >= 0) {
          ++s_.pending[k];
        } else if (!(s_.resident[op] >> device & 1)) {
          s_.resident[op] |= uint64_t{1} << device;
          allocate(device, s_.graph.ops[op].output_bytes);
        }
      }
    }
  }

  void allocate(int32_t device, double bytes) {
    s_.memory[device] += bytes;
    report_.peak_bytes[device] = std::max(report_.peak_bytes[device], s_.memory[device]);
  }
  double bytes_of(int32_t kernel) const { return s_.graph.ops[kernels_.root[kernel]].output_bytes; }

  // Smaller keys run first: the priority, or the moment it became ready; then the place in the graph.
  uint64_t key_of(int32_t kernel) const {
    const int32_t root = kernels_.root[kernel];
    const uint64_t major =
        plan_.schedule.empty() ? batch_ : uint64_t(int64_t{std::numeric_limits<int32_t>::max()} - plan_.schedule[root]);
    return major << 32 | static_cast<uint32_t>(kernel);
  }

  void make_ready(int32_t kernel, int32_t cause) {
    const int32_t device = s_.device[kernel];
    auto& queue = s_.queue[device];
    queue.push_back(key_of(kernel));
    std::push_heap(queue.begin(), queue.end(), std::greater<>());
    s_.idle_or_changed.push_back(device);
    if (trace_) {
      s_.ready_at[kernel] = now_;
      s_.cause[kernel] = cause;
    }
  }

  void dispatch() {
    for (int32_t device : s_.idle_or_changed) {
      auto& queue = s_.queue[device];
      if (s_.device_kernel[device] != kNone || queue.empty()) continue;
      std::pop_heap(queue.begin(), queue.end(), std::greater<>());
      const auto kernel = static_cast<int32_t>(queue.back() & 0xffffffffu);
      queue.pop_back();
      start(kernel, device);
    }
    s_.idle_or_changed.clear();
  }

  void start(int32_t kernel, int32_t device) {
    const double seconds = s_.kernel_seconds(kernels_, kernel, s_.kinds[s_.kind_of[device]]);
    s_.device_kernel[device] = kernel;
    report_.busy_seconds[device] += seconds;
    allocate(device, bytes_of(kernel));
    push({now_ + seconds, kernel, kNone});
    if (trace_) {
      s_.started[kernel] = now_;
      if (s_.ready_at[kernel] < now_) s_.cause[kernel] = last_on_[device];
      trace_->runs.push_back({kernel, device, now_, now_ + seconds});
    }
  }

  void push(const Event& event) {
    s_.events.push_back(event);
    std::push_heap(s_.events.begin(), s_.events.end(), later);
  }

  void end_kernel(int32_t kernel) {
    const int32_t device = s_.device[kernel];
    s_.device_kernel[device] = kNone;
    s_.idle_or_changed.push_back(device);
    if (trace_) last_on_[device] = kernel;
    int32_t references = s_.graph.ops[kernels_.root[kernel]].is_output ? 1 : 0;
    for (int32_t i = readers_.offset[kernel]; i < readers_.offset[kernel + 1]; ++i) {
      const int32_t reader = readers_.list[i];
      if (s_.device[reader] == device) {
        ++references;
        if (--s_.pending[reader] == 0) make_ready(reader, kernel);
      } else {
        count_copy(kernel, reader);
      }
    }
    references += request_transfers(kernel);
    s_.references[kernel] = references;
    if (references == 0) s_.memory[device] -= bytes_of(kernel);
    release_reads(kernel);
    last_end_ = kernel;
  }

  // Notes that `reader` needs the result on its device.
  void count_copy(int32_t kernel, int32_t reader) {
    const int32_t device = s_.device[reader];
    int32_t copy = find_copy(kernel, device);
    if (copy == kNone) {
      copy = static_cast<int32_t>(s_.copies.size());
      s_.copies.push_back({kernel, device, 0, s_.first_copy[kernel]});
      s_.first_copy[kernel] = copy;
    }
    ++s_.copies[copy].readers;
  }
  int32_t find_copy(int32_t kernel, int32_t device) const {
    int32_t copy = s_.first_copy[kernel];
    while (copy != kNone && s_.copies[copy].device != device) copy = s_.copies[copy].next;
    return copy;
  }

  int32_t request_transfers(int32_t kernel) {
    wanted_.clear();
    for (int32_t copy = s_.first_copy[kernel]; copy != kNone; copy = s_.copies[copy].next)
      wanted_.emplace_back(std::numeric_limits<uint64_t>::max(), copy);
    if (wanted_.empty()) return 0;
    for (auto& [urgency, copy] : wanted_)
      for (int32_t i = readers_.offset[kernel]; i < readers_.offset[kernel + 1]; ++i)
        if (s_.device[readers_.list[i]] == s_.copies[copy].device)
          urgency = std::min(urgency, key_of(readers_.list[i]));
    std::sort(wanted_.begin(), wanted_.end());
    for (const auto& [urgency, copy] : wanted_) transfer(kernel, copy);
    return static_cast<int32_t>(wanted_.size());
  }

  void transfer(int32_t kernel, int32_t copy) {
    const int32_t from = s_.device[kernel], to = s_.copies[copy].device;
    const double bytes = bytes_of(kernel), seconds = s_.topology.transfer_seconds(from, to, bytes);
    double start = now_;
    for (int32_t link : s_.topology.route(from, to)) start = std::max(start, s_.link_free[link]);
    for (int32_t link : s_.topology.route(from, to)) {
      s_.link_free[link] = start + seconds;
      report_.link_seconds[link] += seconds;
    }
    report_.transferred_bytes += bytes;
    allocate(to, bytes);
    push({start + seconds, kernel, copy});
    if (trace_) trace_->transfers.push_back({kernels_.root[kernel], from, to, bytes, start, start + seconds});
  }

  void end_transfer(int32_t copy) {
    const int32_t kernel = s_.copies[copy].kernel, to = s_.copies[copy].device;
    drop_reference(kernel);
    for (int32_t i = readers_.offset[kernel]; i < readers_.offset[kernel + 1]; ++i) {
      const int32_t reader = readers_.list[i];
      if (s_.device[reader] == to && --s_.pending[reader] == 0) make_ready(reader, kernel);
    }
  }

  void drop_reference(int32_t kernel) {
    if (--s_.references[kernel] == 0) s_.memory[s_.device[kernel]] -= bytes_of(kernel);
  }

  // What an ended kernel has read and may be needed no more.
  void release_reads(int32_t kernel) {
    for (int32_t i = kernels_.read_offset[kernel]; i < kernels_.read_offset[kernel + 1]; ++i) {
      const int32_t from = kernels_.kernel_of[kernels_.read[i]];
      if (from < 0) continue;
      if (s_.device[from] == s_.device[kernel])
        drop_reference(from);
      else if (Copy& copy = s_.copies[find_copy(from, s_.device[kernel])]; --copy.readers == 0)
        s_.memory[copy.device] -= bytes_of(from);
    }
  }

  StepReport finish() {
    report_.step_seconds = now_;
    for (int32_t d = 0; d < s_.topology.size(); ++d)
      if (report_.peak_bytes[d] > s_.topology.devices[d].memory_bytes) report_.valid = false;
    if (trace_) {
      std::stable_sort(trace_->transfers.begin(), trace_->transfers.end(),
                       [](const TransferRun& a, const TransferRun& b) { return a.start < b.start; });
      for (int32_t k = last_end_; k != kNone; k = s_.cause[k]) trace_->critical_path.push_back(k);
      std::reverse(trace_->critical_path.begin(), trace_->critical_path.end());
      trace_->kernels = kernels_;
    }
    return std::move(report_);
  }

  Simulator::State& s_;
  const Plan& plan_;
  const Kernels& kernels_;
  const Neighbours& readers_;
  StepTrace* trace_;
  StepReport report_;
  double now_ = 0;
  uint64_t batch_ = 0;
  int32_t last_end_ = kNone;
  std::vector<int32_t> last_on_;
  std::vector<std::pair<uint64_t, int32_t>> wanted_;
};

Simulator::Simulator(TaskGraph graph, Topology topology, Costs costs, FusionRules rules)
    : state_(std::make_unique<State>()) {
  check_inputs(graph, topology, costs);
  State& s = *state_;
  s.graph = std::move(graph);
  s.topology = std::move(topology);
  s.costs = std::move(costs);
  s.rules = rules;
  s.facts = fusion_facts(s.graph);
  s.solo_read = solo_read_bytes(s.graph);
  for (const Device& device : s.topology.devices) {
    Device nameless = device;
    nameless.name.clear();
    size_t kind = 0;
    while (kind < s.kinds.size() && !(s.kinds[kind].device == nameless)) ++kind;
    s.kind_of.push_back(static_cast<int32_t>(kind));
    if (kind < s.kinds.size()) continue;
    Kind added{nameless, std::vector<double>(s.graph.ops.size())};
    for (int32_t i = 0; i < s.graph.size(); ++i)
      added.solo[i] = s.factor(i) * roofline_seconds(s.graph.ops[i], s.solo_read[i], nameless);
    s.kinds.push_back(std::move(added));
  }
  s.unfused = fuse(s.graph, s.facts, {}, {}, rules);
  s.unfused_readers = readers_of(s.unfused);
}

Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;
Simulator& Simulator::operator=(Simulator&&) noexcept = default;

StepReport Simulator::run(const Plan& plan, StepTrace* trace) {
  State& s = *state_;
  check_plan(plan, s.graph, s.topology.size());
  if (trace) *trace = {};
  const bool fuses = std::any_of(plan.fusion.begin(), plan.fusion.end(), [](int32_t p) { return p > 0; });
  if (fuses) {
    s.fused = fuse(s.graph, s.facts, plan.fusion, plan.device, s.rules);
    s.fused_readers = readers_of(s.fused);
  }
  return Run(s, plan, fuses ? s.fused : s.unfused, fuses ? s.fused_readers : s.unfused_readers, trace).go();
}

const TaskGraph& Simulator::graph() const { return state_->graph; }
const Topology& Simulator::topology() const { return state_->topology; }
const FusionRules& Simulator::rules() const { return state_->rules; }
const Neighbours& Simulator::consumers() const { return state_->facts.consumers; }
const Neighbours& Simulator::producers() const { return state_->facts.producers; }

double Simulator::op_seconds(int32_t op, int32_t device) const {
  if (state_->graph.ops[op].kind == OpKind::Input) return 0;
  const Kind& kind = state_->kinds[state_->kind_of[device]];
  return kind.device.launch_seconds + kind.solo[op];
}

std::optional<double> Simulator::fusion_gain(int32_t op, int32_t device) const {
  const State& s = *state_;
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
