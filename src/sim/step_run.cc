#include "sim/step_run.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "sim/roofline.h"

namespace hone::sim {

double SimulatorState::kernel_seconds(const Kernels& kernels, int32_t k, const Kind& kind) const {
  const int32_t first = kernels.member_offset[k], last = kernels.member_offset[k + 1];
  if (last - first == 1) return kind.device.launch_seconds + kind.solo[kernels.root[k]];
  double compute = 0, bytes = written[kernels.root[k]], shares = 0, weighted = 0;
  for (int32_t i = first; i < last; ++i) {
    const int32_t op = kernels.member[i];
    compute += kernels.evaluations[i] * kind.compute[op];
    const double share = kind.solo[op] / factor(op);
    shares += share;
    weighted += kind.solo[op];
  }
  for (int32_t i = kernels.read_offset[k]; i < kernels.read_offset[k + 1]; ++i) bytes += kernels.read_bytes[i];
  const double roofline = overlapped(compute, bytes / kind.device.bytes_per_second, kind.device.overlap);
  return kind.device.launch_seconds + roofline * (shares > 0 ? weighted / shares : 1);
}

namespace {

// A heap with the earliest event on top; ties by kernel and transfer, so that runs are reproducible.
bool later(const Event& a, const Event& b) {
  if (a.time != b.time) return a.time > b.time;
  if (a.kernel != b.kernel) return a.kernel > b.kernel;
  return a.transfer > b.transfer;
}

// One run over the state's buffers.
class Run {
 public:
  Run(SimulatorState& state, const StepInput& input, const StepLimit& limit, StepTrace* trace)
      : s_(state),
        plan_(input.plan),
        kernels_(input.kernels),
        readers_(input.readers),
        limit_(limit),
        latest_(limit.seconds * (1 + kRounding)),
        limited_(limit.seconds < std::numeric_limits<double>::infinity()),
        trace_(trace) {}

  StepReport go() {
    assign();
    if (limited_) bound();
    if (hopeless_) return given_up();
    prepare();
    if (hopeless_) return given_up();
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
        if (event.kernel == kNone)
          end_fetch(s_.fetches.list[event.transfer]);
        else if (event.transfer == kNone)
          end_kernel(event.kernel);
        else
          end_transfer(event.transfer);
      }
      dispatch();
      if (hopeless_) return given_up();
    }
    return now_ > limit_.seconds ? given_up() : finish();
  }

 private:
  // Devices and times of all kernels.
  void assign() {
    const int32_t devices = s_.topology.size(), n = kernels_.size();
    report_.busy_seconds.assign(devices, 0);
    report_.link_seconds.assign(s_.topology.links.size(), 0);
    report_.peak_bytes.assign(devices, 0);
    report_.kernels = n;
    s_.device.resize(n);
    s_.seconds.resize(n);
    for (int32_t k = 0; k < n; ++k) {
      s_.device[k] = plan_.device.empty() ? 0 : plan_.device[kernels_.root[k]];
      s_.seconds[k] = s_.kernel_seconds(kernels_, k, s_.kinds[s_.kind_of[s_.device[k]]]);
    }
  }

  void prepare() {
    const int32_t devices = s_.topology.size(), n = kernels_.size();
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
    if (s_.topology.threads) s_.segments.clear(*s_.topology.threads, devices, n);
    if (trace_) {
      s_.cause.assign(n, kNone);
      s_.ready_at.assign(n, 0);
      s_.started.assign(n, 0);
      last_on_.assign(devices, kNone);
    }
    for (int32_t k = 0; k < n; ++k) {
      const int32_t device = s_.device[k];
      for (int32_t i = kernels_.read_offset[k]; i < kernels_.read_offset[k + 1]; ++i) {
        const int32_t op = kernels_.read[i];
        if (kernels_.kernel_of[op] >= 0) {
          ++s_.pending[k];
        } else if (!(s_.resident[op] >> device & 1)) {
          s_.resident[op] |= uint64_t{1} << device;
          allocate(device, s_.result_bytes[op]);
        }
      }
    }
    if (s_.parameters == Parameters::Home && s_.topology.size() > 1) fetch();
  }

  // Sends parameters from their homes to the other devices that read them, at the beginning of the step.
  void fetch() {
    s_.fetches = parameter_fetches(s_.updates, kernels_, s_.device);
    const std::vector<int32_t>& home = s_.fetches.home;
    for (size_t op = 0; op < home.size(); ++op)
      if (home[op] >= 0 && !(s_.resident[op] >> home[op] & 1)) allocate(home[op], s_.result_bytes[op]);
    for (size_t f = 0; f < s_.fetches.list.size(); ++f) {
      const Fetch& one = s_.fetches.list[f];
      for (int32_t i = one.begin; i < one.end; ++i) ++s_.pending[s_.fetches.reader[i]];
      const double end = carry(one.op, one.from, one.to);
      push({end, kNone, static_cast<int32_t>(f)});
    }
  }
  void end_fetch(const Fetch& one) {
    for (int32_t i = one.begin; i < one.end; ++i)
      if (const int32_t reader = s_.fetches.reader[i]; --s_.pending[reader] == 0) make_ready(reader, kNone);
  }

  // Whether the plan can meet the limit when every device and every link is busy or a path of kernels and transfers never
  // waits; prepares the same for what is left at each start.
  void bound() {
    const int32_t n = kernels_.size();
    s_.rest.resize(n);
    left_.assign(s_.topology.size(), 0);
    s_.link_free.assign(s_.topology.links.size(), 0);  // here: the time of all transfers
    for (int32_t k = n; k-- > 0 && !hopeless_;) {
      const int32_t device = s_.device[k];
      double after = 0;
      uint64_t sent = uint64_t{1} << device;
      for (int32_t i = readers_.offset[k]; i < readers_.offset[k + 1]; ++i) {
        const int32_t reader = readers_.list[i], to = s_.device[reader];
        const double transfer = to == device ? 0 : s_.transfer_seconds(device, to, bytes_of(k));
        after = std::max(after, transfer + s_.rest[reader]);
        if (!(sent >> to & 1) && !s_.topology.threads)
          for (int32_t link : s_.topology.route(device, to))
            if ((s_.link_free[link] += transfer) > latest_) hopeless_ = true;
        sent |= uint64_t{1} << to;
      }
      s_.rest[k] = s_.seconds[k] + after;
      left_[device] += s_.seconds[k];
      if (s_.rest[k] > latest_ || left_[device] > latest_) hopeless_ = true;
    }
  }

  // A plan that was given up: of its report nothing is known.
  StepReport given_up() {
    report_.step_seconds = std::numeric_limits<double>::infinity();
    report_.valid = false;
    return std::move(report_);
  }

  void allocate(int32_t device, double bytes) {
    s_.memory[device] += bytes;
    if (limit_.must_fit && s_.memory[device] > s_.topology.devices[device].memory_bytes) hopeless_ = true;
    report_.peak_bytes[device] = std::max(report_.peak_bytes[device], s_.memory[device]);
  }
  double bytes_of(int32_t kernel) const { return s_.result_bytes[kernels_.root[kernel]]; }

  // Smaller keys run first: by priority, or else by the time the kernel became ready; then by position in the graph.
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
    double seconds = s_.seconds[kernel];
    if (limited_) {
      if (now_ + s_.rest[kernel] > latest_ || now_ + left_[device] > latest_) hopeless_ = true;
      left_[device] -= seconds;
    }
    if (s_.topology.threads) seconds += around(kernel, device);
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

  // What a thread does before a kernel: it copies what the kernel reads from other devices and begins segments.
  double around(int32_t kernel, int32_t device) {
    double copying = 0;
    for (int32_t i = kernels_.read_offset[kernel]; i < kernels_.read_offset[kernel + 1]; ++i) {
      const int32_t op = kernels_.read[i], from = kernels_.kernel_of[op], sender = from < 0 ? device : s_.device[from];
      if (sender == device) continue;
      s_.segments.needed(from, sender, device, now_);
      Copy& copy = s_.copies[find_copy(from, device)];
      if (std::exchange(copy.made, true)) continue;
      const double seconds = s_.transfer_seconds(sender, device, bytes_of(from));
      record(op, sender, device, now_ + copying, seconds);
      copying += seconds;
    }
    return copying + s_.segments.begin(kernel, device);
  }
  // A transfer, for the report.
  void record(int32_t op, int32_t from, int32_t to, double start, double seconds) {
    const double bytes = s_.result_bytes[op];
    for (int32_t link : s_.topology.route(from, to)) report_.link_seconds[link] += seconds;
    report_.transferred_bytes += bytes;
    if (trace_) trace_->transfers.push_back({op, from, to, bytes, start, start + seconds});
  }

  void push(const Event& event) {
    s_.events.push_back(event);
    std::push_heap(s_.events.begin(), s_.events.end(), later);
  }

  void end_kernel(int32_t kernel) {
    const int32_t device = s_.device[kernel];
    s_.device_kernel[device] = kNone;
    s_.idle_or_changed.push_back(device);
    if (s_.topology.threads) s_.segments.end(device, now_);
    if (trace_) last_on_[device] = kernel;
    int32_t references = s_.is_output[kernels_.root[kernel]];
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

  // Records that `reader` needs the result on its device.
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
    const int32_t to = s_.copies[copy].device;
    allocate(to, bytes_of(kernel));
    push({s_.topology.threads ? now_ : carry(kernels_.root[kernel], s_.device[kernel], to), kernel, copy});
  }
  // Occupies the links of a route; returns the time at which the result of `op` has arrived.
  double carry(int32_t op, int32_t from, int32_t to) {
    const double seconds = s_.transfer_seconds(from, to, s_.result_bytes[op]);
    double start = now_;
    for (int32_t link : s_.topology.route(from, to)) start = std::max(start, s_.link_free[link]);
    for (int32_t link : s_.topology.route(from, to)) s_.link_free[link] = start + seconds;
    record(op, from, to, start, seconds);
    return start + seconds;
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

  // Drops the references of a finished kernel to the results it has read.
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

  SimulatorState& s_;
  const Plan& plan_;
  const Kernels& kernels_;
  const Neighbours& readers_;
  static constexpr double kRounding = 1e-9;  // of sums in another order, relative
  const StepLimit& limit_;
  const double latest_;
  const bool limited_;
  bool hopeless_ = false;     // the limit is certain to be exceeded
  std::vector<double> left_;  // [devices]: time of the kernels that have not started
  StepTrace* trace_;
  StepReport report_;
  double now_ = 0;
  uint64_t batch_ = 0;
  int32_t last_end_ = kNone;
  std::vector<int32_t> last_on_;
  std::vector<std::pair<uint64_t, int32_t>> wanted_;
};

}  // namespace

StepReport run_step(SimulatorState& state, const StepInput& input, const StepLimit& limit, StepTrace* trace) {
  return Run(state, input, limit, trace).go();
}

}  // namespace hone::sim
