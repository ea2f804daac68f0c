#include "sim/move_features.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace hone::sim {

// Sums over a move.
struct MoveFeatures::Moved {
  double size = 0, busy = 0, on_path = 0;  // operations, seconds, seconds on the path
  double from_load = 0, to_load = 0, most_before = 0, most_after = 0, squares_before = 0, squares_after = 0;
  double more_transfer = 0, less_transfer = 0, more_sent = 0, less_sent = 0, touched_transfer = 0;
  double path_before = 0, path_after = 0, cuts_before = 0, cuts_after = 0;
  double start = 0, start_square = 0, busy_from = 0, busy_to = 0, bytes = 0;
  double on = 0, off = 0, gained = 0, lost = 0, level = 0, fused_on_path = 0;
  double ordered = 0, up = 0, up_on_path = 0, ordered_on_path = 0;
  double targets = 0;
  double more_fetch = 0, less_fetch = 0, touched_fetch = 0;
};

MoveFeatures::MoveFeatures(const Simulator& simulator, const Plan& plan) : simulator_(simulator), plan_(plan) {
  const size_t n = simulator.graph().ops.size();
  start_.assign(n, 0);
  on_path_.assign(n, 0);
  after_.assign(n, 0);
  seen_.assign(n, 0);
  asked_.assign(n, 0);
  gain_.assign(n, 0);
  for (size_t i = 0; i < n; ++i) gain_[i] = simulator.fusion_gain(static_cast<int32_t>(i), 0).value_or(0);
  if (simulator.parameters() == Parameters::Home) {
    updated_.assign(n, -1);
    for (size_t i = 0; i < n; ++i)
      if (simulator.updates()[i] >= 0) updated_[simulator.updates()[i]] = static_cast<int32_t>(i);
  }
  load_.assign(simulator.topology().size(), 0);
  busy_.assign(load_.size() * kBuckets, 0);
}

// One after the other to each of `devices`, a bit each.
double MoveFeatures::transfers(int32_t from, uint64_t devices, double bytes) const {
  double sum = 0;
  for (; devices != 0; devices &= devices - 1)
    sum += simulator_.transfer_seconds(from, std::countr_zero(devices), bytes);
  return sum;
}

void MoveFeatures::update(double step_seconds) {
  step_ = std::isfinite(step_seconds) && step_seconds > 0 ? step_seconds : 1;
  std::fill(load_.begin(), load_.end(), 0);
  const TaskGraph& graph = simulator_.graph();
  for (int32_t i = 0; i < graph.size(); ++i)
    if (graph.ops[i].kind != OpKind::Input) load_[device_before(i)] += seconds(i, device_before(i));
}

void MoveFeatures::look(const StepTrace& trace, double step_seconds) {
  std::fill(on_path_.begin(), on_path_.end(), 0);
  std::fill(busy_.begin(), busy_.end(), 0);
  path_.clear();
  for (int32_t k : trace.critical_path) {
    path_.push_back(trace.kernels.root[k]);
    for (int32_t m = trace.kernels.member_offset[k]; m < trace.kernels.member_offset[k + 1]; ++m)
      on_path_[trace.kernels.member[m]] = 1;
  }
  const double bucket = step_seconds / kBuckets;
  for (const KernelRun& run : trace.runs) {
    for (int32_t m = trace.kernels.member_offset[run.kernel]; m < trace.kernels.member_offset[run.kernel + 1]; ++m)
      start_[trace.kernels.member[m]] = run.start / step_seconds;
    for (int b = static_cast<int>(run.start / bucket); b < kBuckets && b * bucket < run.end; ++b)
      busy_[static_cast<size_t>(run.device) * kBuckets + b] +=
          static_cast<float>((std::min(run.end, (b + 1) * bucket) - std::max(run.start, b * bucket)) / bucket);
  }
  update(step_seconds);
}

void MoveFeatures::set_after(const Move& move) {
  ++stamp_;
  moved_.clear();
  for (const MoveChange& change : move.changes) {
    if (change.list != MoveChange::Device) continue;
    if (seen_[change.op] != stamp_) moved_.push_back(change.op);
    seen_[change.op] = stamp_;
    after_[change.op] = change.after;
  }
}

void MoveFeatures::loads_of(Moved& moved) const {
  std::vector<double> load = load_;
  uint64_t targets = 0;
  for (int32_t op : moved_) {
    const int32_t from = device_before(op), to = after_[op];
    const double here = seconds(op, from), there = seconds(op, to);
    load[from] -= here;
    load[to] += there;
    moved.busy += here;
    moved.on_path += on_path_[op] ? here : 0;
    moved.from_load += here * load_[from];
    moved.to_load += here * load_[to];
    targets |= uint64_t{1} << to;
  }
  moved.targets = std::popcount(targets);
  for (size_t d = 0; d < load.size(); ++d) {
    moved.most_before = std::max(moved.most_before, load_[d]);
    moved.most_after = std::max(moved.most_after, load[d]);
    moved.squares_before += load_[d] * load_[d];
    moved.squares_after += load[d] * load[d];
  }
}

// A result goes once to every other device that reads it.
void MoveFeatures::transfers_of(Moved& moved) {
  const TaskGraph& graph = simulator_.graph();
  const Neighbours &producers = simulator_.producers(), &consumers = simulator_.consumers();
  const auto sent = [&](int32_t op) {
    if (asked_[op] == stamp_ || graph.ops[op].kind == OpKind::Input) return;
    asked_[op] = stamp_;
    uint64_t before = 0, after = 0;
    for (int32_t e = consumers.offset[op]; e < consumers.offset[op + 1]; ++e) {
      before |= uint64_t{1} << device_before(consumers.list[e]);
      after |= uint64_t{1} << device_after(consumers.list[e]);
    }
    const int32_t from = device_before(op), from_after = device_after(op);
    before &= ~(uint64_t{1} << from);
    after &= ~(uint64_t{1} << from_after);
    const double bytes = graph.ops[op].output_bytes, seconds_before = transfers(from, before, bytes);
    moved.touched_transfer += seconds_before;
    if (from == from_after && before == after) return;
    const double seconds_after = transfers(from_after, after, bytes);
    (seconds_after > seconds_before ? moved.more_transfer : moved.less_transfer) +=
        std::abs(seconds_after - seconds_before);
    const int more = std::popcount(after) - std::popcount(before);
    (more > 0 ? moved.more_sent : moved.less_sent) += std::abs(more);
  };
  for (int32_t op : moved_) {
    sent(op);
    for (int32_t e = producers.offset[op]; e < producers.offset[op + 1]; ++e) sent(producers.list[e]);
    moved.bytes += graph.ops[op].output_bytes;
  }
}

// A parameter goes once from its home to every other device that reads it.
void MoveFeatures::fetch_of(int32_t parameter, Moved& moved) {
  if (asked_[parameter] == stamp_ || simulator_.updates()[parameter] == kNoParameter) return;
  asked_[parameter] = stamp_;
  const Neighbours& consumers = simulator_.consumers();
  const int32_t begin = consumers.offset[parameter], end = consumers.offset[parameter + 1];
  const int32_t update = simulator_.updates()[parameter];
  if (update < 0 && begin == end) return;
  // Without an update it lives with its first reader; which one that is, only a fused graph says.
  const int32_t lives_with = update >= 0 ? update : *std::min_element(&consumers.list[begin], &consumers.list[end]);
  const auto seconds_with = [&](auto&& device_of) {
    const int32_t home = device_of(lives_with);
    uint64_t readers = 0;
    for (int32_t e = begin; e < end; ++e) readers |= uint64_t{1} << device_of(consumers.list[e]);
    readers &= ~(uint64_t{1} << home);
    return transfers(home, readers, simulator_.graph().ops[parameter].output_bytes);
  };
  const double before = seconds_with([&](int32_t op) { return device_before(op); }),
               after = seconds_with([&](int32_t op) { return device_after(op); });
  moved.touched_fetch += before;
  (after > before ? moved.more_fetch : moved.less_fetch) += std::abs(after - before);
}

void MoveFeatures::fetches_of(Moved& moved) {
  if (updated_.empty()) return;
  const Neighbours& producers = simulator_.producers();
  for (int32_t op : moved_) {
    if (updated_[op] >= 0) fetch_of(updated_[op], moved);
    for (int32_t e = producers.offset[op]; e < producers.offset[op + 1]; ++e)
      if (simulator_.graph().ops[producers.list[e]].kind == OpKind::Input) fetch_of(producers.list[e], moved);
  }
}

// Transfers between neighbours of the critical path.
void MoveFeatures::path_of(Moved& moved) const {
  const TaskGraph& graph = simulator_.graph();
  for (size_t i = 0; i < path_.size(); ++i) {
    const int32_t op = path_[i];
    if (is_moved(op)) {
      moved.path_before += seconds(op, device_before(op));
      moved.path_after += seconds(op, after_[op]);
    }
    if (i + 1 == path_.size()) break;
    const int32_t next = path_[i + 1];
    if (!is_moved(op) && !is_moved(next)) continue;
    const double bytes = graph.ops[op].output_bytes;
    const int32_t a = device_before(op), b = device_before(next), c = device_after(op), d = device_after(next);
    if (a != b) {
      moved.path_before += simulator_.transfer_seconds(a, b, bytes);
      ++moved.cuts_before;
    }
    if (c != d) {
      moved.path_after += simulator_.transfer_seconds(c, d, bytes);
      ++moved.cuts_after;
    }
  }
}

// Where in the step the moved operations run, and how busy both devices are there.
void MoveFeatures::times_of(Moved& moved) const {
  double weights = 0;
  for (int32_t op : moved_) {
    const double weight = seconds(op, device_before(op)) + 1e-12;
    const int bucket = std::clamp(static_cast<int>(start_[op] * kBuckets), 0, kBuckets - 1);
    weights += weight;
    moved.start += weight * start_[op];
    moved.start_square += weight * start_[op] * start_[op];
    moved.busy_from += weight * busy_[static_cast<size_t>(device_before(op)) * kBuckets + bucket];
    moved.busy_to += weight * busy_[static_cast<size_t>(after_[op]) * kBuckets + bucket];
  }
  if (weights <= 0) return;
  for (double* mean : {&moved.start, &moved.start_square, &moved.busy_from, &moved.busy_to}) *mean /= weights;
}

void MoveFeatures::fusion_and_order(const Move& move, Moved& moved) const {
  const auto n = static_cast<double>(simulator_.graph().size());
  for (const MoveChange& change : move.changes) {
    if (change.list == MoveChange::Fusion) {
      const bool on = change.after > 0 && change.before == 0, off = change.after == 0 && change.before > 0;
      moved.on += on;
      moved.off += off;
      moved.gained += on ? gain_[change.op] : 0;
      moved.lost += off ? gain_[change.op] : 0;
      moved.level += change.after - change.before;
      moved.fused_on_path += on_path_[change.op];
    } else if (change.list == MoveChange::Schedule) {
      const double up = (change.after - change.before) / n / BlockMoves::kLevels;
      ++moved.ordered;
      moved.up += up;
      moved.up_on_path += on_path_[change.op] ? up : 0;
      moved.ordered_on_path += on_path_[change.op];
    }
  }
}

namespace {

float small(double x) { return static_cast<float>(x >= 0 ? std::log1p(x) : -std::log1p(-x)); }
// Shares that matter from 0.01 % on.
float share(double x) { return static_cast<float>(x >= 0 ? std::log1p(1e3 * x) : -std::log1p(-1e3 * x)) / 4; }

}  // namespace

MoveVector MoveFeatures::of(const Move& move, double rate) {
  Moved m;
  set_after(move);
  m.size = static_cast<double>(moved_.size());
  loads_of(m);
  transfers_of(m);
  fetches_of(m);
  path_of(m);
  times_of(m);
  fusion_and_order(move, m);
  const double n = std::max(2, simulator_.graph().size()), s = step_;
  const double busy = std::max(m.busy, 1e-12), changed = std::max<double>(1, m.on + m.off);
  const double load = std::max(1e-12, m.squares_before), ordered = std::max(1.0, m.ordered);
  double blocks = 0;
  for (int32_t count : move.blocks) blocks += count;
  MoveVector out{};
  size_t at = 0;
  for (double x : {m.busy, m.on_path, m.most_after - m.most_before, m.more_transfer, m.less_transfer,
                   m.more_transfer - m.less_transfer, m.touched_transfer, m.path_after - m.path_before, m.gained,
                   m.lost, m.more_fetch, m.less_fetch, m.touched_fetch})
    out[at++] = share(x / s);
  for (double x : {m.from_load / busy / s, m.to_load / busy / s, m.most_before / s, m.squares_after / load - 1,
                   m.on_path / busy, m.start, std::sqrt(std::max(0.0, m.start_square - m.start * m.start)), m.busy_from,
                   m.busy_to, m.fused_on_path / changed, m.up / ordered, m.up_on_path / ordered,
                   m.ordered_on_path / ordered, m.level / changed / 8})
    out[at++] = static_cast<float>(std::clamp(x, -4.0, 4.0));
  for (double x : {m.size, m.on, m.off, m.ordered, m.more_sent, m.less_sent, m.cuts_before, m.cuts_after,
                   static_cast<double>(simulator_.topology().size()), n, m.targets})
    out[at++] = small(x) / 4;
  out[at++] = static_cast<float>(std::log1p(m.size) / std::log1p(n));
  out[at++] = static_cast<float>(rate);
  out[at++] = static_cast<float>(path_.size() / n);
  out[at++] = blocks > 1 ? 1 : 0;
  out[at++] = updated_.empty() ? 0 : 1;
  for (int32_t count : move.blocks) out[at++] = static_cast<float>(count / std::max(1.0, blocks));
  return out;
}

}  // namespace hone::sim
