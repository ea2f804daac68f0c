#include "sim/decisions.h"

#include <algorithm>
#include <span>
#include <string>

#include "base/error.h"

namespace hone::sim {

namespace {

struct Member {
  int32_t op = 0;
  double evaluations = 1;
};

// Kernels while operations move into their consumers. An operation that was fused lives in several kernels.
class Fuser {
 public:
  Fuser(const TaskGraph& graph, const std::vector<int32_t>& devices, const FusionRules& rules)
      : graph_(graph),
        devices_(devices),
        rules_(rules),
        consumers_(consumers_of(graph)),
        members_(graph.ops.size()),
        homes_(graph.ops.size()),
        is_root_(graph.ops.size()),
        stamp_(graph.ops.size(), -1),
        wanted_(graph.ops.size(), 0) {
    alone_.reserve(graph.ops.size());
    for (int32_t i = 0; i < graph.size(); ++i) {
      is_root_[i] = graph.ops[i].kind != OpKind::Input;
      alone_.push_back({i, 1});
    }
  }

  // Moves `op` into all kernels that read it, or leaves everything as it is.
  void try_fuse(int32_t op) {
    if (!fusible_producer(graph_.ops[op]) || !find_readers(op)) return;
    for (int32_t reader : readers_)
      if (!fits(op, reader)) return;
    const std::vector<Member> moved(members(op).begin(), members(op).end());  // merging may move what it lies in
    for (int32_t reader : readers_) merge(moved, reader);
    for (const Member& member : moved) {
      std::vector<int32_t>& homes = homes_[member.op];
      homes.erase(std::remove(homes.begin(), homes.end(), op), homes.end());
      for (int32_t reader : readers_)
        if (std::find(homes.begin(), homes.end(), reader) == homes.end()) homes.push_back(reader);
    }
    is_root_[op] = false;
    members_[op].clear();
  }

  Kernels take() {
    Kernels out;
    const Neighbours producers = producers_of(graph_);
    out.kernel_of.assign(graph_.ops.size(), -1);
    out.member_offset.push_back(0);
    out.read_offset.push_back(0);
    std::fill(stamp_.begin(), stamp_.end(), -1);
    for (int32_t root = 0; root < graph_.size(); ++root) {
      if (!is_root_[root]) continue;
      out.kernel_of[root] = out.size();
      out.root.push_back(root);
      add_kernel(root, producers, out);
    }
    return out;
  }

 private:
  // Valid until the next change. Kernels of one operation have no list of their own.
  std::span<const Member> members(int32_t root) const {
    if (members_[root].empty()) return {&alone_[root], 1};
    return members_[root];
  }

  double evaluations(int32_t root, int32_t op) const {
    const auto& list = members_[root];
    if (list.empty()) return 1;
    const auto at = std::lower_bound(list.begin(), list.end(), op, [](const Member& m, int32_t o) { return m.op < o; });
    return at->evaluations;
  }

  // The kernels that read `op`, in readers_, and how often each would compute it, in wanted_. False when one cannot take it.
  bool find_readers(int32_t op) {
    readers_.clear();
    ++round_;
    for (int32_t e = consumers_.offset[op]; e < consumers_.offset[op + 1]; ++e) {
      const int32_t consumer = consumers_.list[e];
      if (!fusible_consumer(graph_.ops[consumer])) return false;
      const double reads = graph_.edges[consumers_.edge[e]].reads;
      if (is_root_[consumer])
        want(consumer, evaluations(consumer, consumer) * reads);
      else
        for (int32_t home : homes_[consumer]) want(home, evaluations(home, consumer) * reads);
    }
    return !readers_.empty();
  }
  void want(int32_t reader, double evaluations) {
    if (stamp_[reader] != round_) {
      stamp_[reader] = round_;
      wanted_[reader] = 0;
      readers_.push_back(reader);
    }
    wanted_[reader] = std::max(wanted_[reader], evaluations);
  }

  bool fits(int32_t op, int32_t reader) const {
    if (!devices_.empty() && devices_[op] != devices_[reader]) return false;
    const std::span<const Member> moved = members(op), there = members(reader);
    size_t together = there.size() + moved.size();
    for (const Member& member : moved) {
      if (member.evaluations * wanted_[reader] > rules_.max_repeats) return false;
      together -= std::binary_search(there.begin(), there.end(), member,
                                     [](const Member& a, const Member& b) { return a.op < b.op; });
    }
    return together <= static_cast<size_t>(rules_.max_ops);
  }

  // An operation that both sides compute is computed once, as often as the busier side needs it.
  void merge(const std::vector<Member>& moved, int32_t reader) {
    const std::span<const Member> there = members(reader);
    std::vector<Member> out;
    out.reserve(there.size() + moved.size());
    for (size_t a = 0, b = 0; a < there.size() || b < moved.size();) {
      const bool from_moved = a == there.size() || (b < moved.size() && moved[b].op < there[a].op);
      const bool both = !from_moved && b < moved.size() && moved[b].op == there[a].op;
      Member next = from_moved ? moved[b] : there[a];
      if (from_moved || both) {
        const double needed = moved[b].evaluations * wanted_[reader];
        next.evaluations = both ? std::max(next.evaluations, needed) : needed;
      }
      a += !from_moved;
      b += from_moved || both;
      out.push_back(next);
    }
    members_[reader] = std::move(out);
  }

  void add_kernel(int32_t root, const Neighbours& producers, Kernels& out) {
    const std::span<const Member> list = members(root);
    readers_.clear();  // here: what the kernel reads
    ++round_;
    for (const Member& member : list) {
      out.member.push_back(member.op);
      out.evaluations.push_back(member.evaluations);
      for (int32_t e = producers.offset[member.op]; e < producers.offset[member.op + 1]; ++e) {
        const int32_t from = producers.list[e];
        if (!is_root_[from] && graph_.ops[from].kind != OpKind::Input) continue;  // computed inside
        want(from, std::min(1.0, member.evaluations * graph_.edges[producers.edge[e]].reads));
      }
    }
    std::sort(readers_.begin(), readers_.end());
    for (int32_t from : readers_) {
      out.read.push_back(from);
      out.read_bytes.push_back(graph_.ops[from].output_bytes * wanted_[from]);
    }
    out.member_offset.push_back(static_cast<int32_t>(out.member.size()));
    out.read_offset.push_back(static_cast<int32_t>(out.read.size()));
  }

  const TaskGraph& graph_;
  const std::vector<int32_t>& devices_;
  const FusionRules& rules_;
  Neighbours consumers_;
  std::vector<Member> alone_;                 // [ops]
  std::vector<std::vector<Member>> members_;  // [ops], by op; empty = the root alone
  std::vector<std::vector<int32_t>> homes_;   // [ops]: kernels that compute a fused operation
  std::vector<uint8_t> is_root_;
  std::vector<int32_t> stamp_, readers_;
  std::vector<double> wanted_;
  int32_t round_ = -1;
};

}  // namespace

bool fusible_producer(const Op& op) {
  return !op.is_output && (op.kind == OpKind::Elementwise || op.kind == OpKind::Move || op.kind == OpKind::Reduce);
}

bool fusible_consumer(const Op& op) {
  return op.kind == OpKind::Elementwise || op.kind == OpKind::Move || op.kind == OpKind::Reduce;
}

void check_plan(const Plan& plan, const TaskGraph& graph, int32_t devices) {
  const auto check_length = [&](const std::vector<int32_t>& list, const char* what) {
    if (!list.empty() && list.size() != graph.ops.size())
      throw Error("the plan's " + std::string(what) + " has " + std::to_string(list.size()) + " entries for " +
                      std::to_string(graph.ops.size()) + " operations",
                  graph.name);
  };
  check_length(plan.device, "placement");
  check_length(plan.schedule, "schedule");
  check_length(plan.fusion, "fusion");
  for (size_t i = 0; i < plan.device.size(); ++i)
    if (plan.device[i] < 0 || plan.device[i] >= devices)
      throw Error(
          "the plan places an operation on device " + std::to_string(plan.device[i]) + " of " + std::to_string(devices),
          graph.name + ": " + graph.ops[i].name);
}

Kernels fuse(const TaskGraph& graph, const std::vector<int32_t>& fusion, const std::vector<int32_t>& devices,
             const FusionRules& rules) {
  Fuser fuser(graph, devices, rules);
  std::vector<int32_t> order;
  for (int32_t i = 0; i < static_cast<int32_t>(fusion.size()); ++i)
    if (fusion[i] > 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return fusion[a] > fusion[b]; });
  for (int32_t op : order) fuser.try_fuse(op);
  return fuser.take();
}

}  // namespace hone::sim
