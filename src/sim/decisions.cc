#include "sim/decisions.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string>

#include "base/error.h"

namespace hone::sim {

namespace {

struct Member {
  int32_t op = 0;
  double evaluations = 1;
  int32_t copies = 1;  // of its code in the kernel
};

// Opcodes after whose code nothing computed before can be used again: XLA's ElementalIrEmitter::OpInvalidatesCache.
bool opens_block(const std::string& opcode) {
  return opcode == "reduce" || opcode == "concatenate" || opcode == "pad" || opcode == "dynamic-update-slice";
}

// Kernels while operations move into their consumers. An operation that was fused lives in several kernels.
class Fuser {
 public:
  Fuser(const TaskGraph& graph, const FusionFacts& facts, const std::vector<int32_t>& devices, const FusionRules& rules)
      : graph_(graph),
        facts_(facts),
        devices_(devices),
        rules_(rules),
        max_ops_(rules.max_copies > 0 ? std::min(rules.max_ops, kMaskBits) : rules.max_ops),
        consumers_(facts.consumers),
        members_(graph.ops.size()),
        homes_(graph.ops.size()),
        is_root_(graph.ops.size()),
        stamp_(graph.ops.size(), -1),
        wanted_(graph.ops.size(), 0),
        place_(graph.ops.size(), -1) {
    alone_.reserve(graph.ops.size());
    for (int32_t i = 0; i < graph.size(); ++i) {
      is_root_[i] = graph.ops[i].kind != OpKind::Input;
      alone_.push_back({i, 1, 1});
    }
  }

  // Moves `op` into all kernels that read it, or leaves everything as it is.
  void try_fuse(int32_t op) {
    if (!(facts_.flags[op] & FusionFacts::kProducer) || !find_readers(op)) return;
    for (int32_t reader : readers_)
      if (!has_room(op, reader)) return;
    if (merged_.size() < readers_.size()) merged_.resize(readers_.size());
    for (size_t r = 0; r < readers_.size(); ++r)
      if (!merge(op, readers_[r], merged_[r])) return;
    const auto move_home = [&](int32_t member) {
      std::vector<int32_t>& homes = homes_[member];
      homes.erase(std::remove(homes.begin(), homes.end(), op), homes.end());
      for (int32_t reader : readers_)
        if (std::find(homes.begin(), homes.end(), reader) == homes.end()) homes.push_back(reader);
    };
    for (const Member& member : members(op)) move_home(member.op);
    for (size_t r = 0; r < readers_.size(); ++r) members_[readers_[r]] = merged_[r];
    is_root_[op] = false;
    members_[op].clear();
  }

  Kernels take() {
    Kernels out;
    const Neighbours& producers = facts_.producers;
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

  const Member& member_of(int32_t root, int32_t op) const {
    const auto& list = members_[root];
    if (list.empty()) return alone_[root];
    return *std::lower_bound(list.begin(), list.end(), op, [](const Member& m, int32_t o) { return m.op < o; });
  }

  // The kernels that read `op`, in readers_, and how often each would compute it, in wanted_. False when one cannot take it.
  bool find_readers(int32_t op) {
    readers_.clear();
    ++round_;
    for (int32_t e = consumers_.offset[op]; e < consumers_.offset[op + 1]; ++e) {
      const int32_t consumer = consumers_.list[e];
      if (!(facts_.flags[consumer] & FusionFacts::kConsumer)) return false;
      const double reads = graph_.edges[consumers_.edge[e]].reads;
      if (is_root_[consumer])
        want(consumer, member_of(consumer, consumer).evaluations * reads);
      else
        for (int32_t home : homes_[consumer]) want(home, member_of(home, consumer).evaluations * reads);
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

  bool has_room(int32_t op, int32_t reader) const {
    if (!devices_.empty() && devices_[op] != devices_[reader]) return false;
    const std::span<const Member> moved = members(op), there = members(reader);
    size_t together = there.size() + moved.size();
    if (together <= static_cast<size_t>(max_ops_)) return true;
    for (const Member& member : moved)
      together -= std::binary_search(there.begin(), there.end(), member,
                                     [](const Member& a, const Member& b) { return a.op < b.op; });
    return together <= static_cast<size_t>(max_ops_);
  }

  // The kernel `reader` with `op` and all its kernel computes, in `out`; false when the rules forbid it. An operation that
  // both sides compute is computed once, as often as the busier side needs it.
  bool merge(int32_t op, int32_t reader, std::vector<Member>& out) {
    const std::span<const Member> moved = members(op), there = members(reader);
    bool shared = false;
    out.clear();
    for (size_t a = 0, b = 0; a < there.size() || b < moved.size();) {
      const bool from_moved = a == there.size() || (b < moved.size() && moved[b].op < there[a].op);
      const bool both = !from_moved && b < moved.size() && moved[b].op == there[a].op;
      Member next = from_moved ? moved[b] : there[a];
      if (from_moved || both) {
        const double needed = moved[b].evaluations * wanted_[reader];
        if (needed > rules_.max_repeats) return false;
        next.evaluations = both ? std::max(next.evaluations, needed) : needed;
      }
      shared |= both;
      a += !from_moved;
      b += from_moved || both;
      out.push_back(next);
    }
    return rules_.max_copies <= 0 || code_fits(op, reader, moved.size() == 1 && !shared, out);
  }

  // XLA's limits on generated code. `single`: nothing but `op` is added.
  bool code_fits(int32_t op, int32_t reader, bool single, std::vector<Member>& kernel) {
    int32_t reductions = 0;
    for (const Member& member : kernel) reductions += (facts_.flags[member.op] & FusionFacts::kReduction) != 0;
    if (reductions > rules_.max_reductions) return false;
    const int32_t first = consumers_.offset[op];
    if (!single || consumers_.offset[op + 1] - first != 1) return count_copies(kernel);
    const int32_t copies = member_of(reader, consumers_.list[first]).copies;  // whether the index is new or the same
    std::lower_bound(kernel.begin(), kernel.end(), op, [](const Member& m, int32_t o) { return m.op < o; })->copies =
        copies;
    return copy_fits(op, copies, kernel.size());
  }

  bool copy_fits(int32_t op, int32_t copies, size_t kernel_size) const {
    const uint8_t flags = facts_.flags[op];
    if (flags & FusionFacts::kBroadcast) return true;
    if (copies > rules_.max_copies) return false;
    if (!(flags & FusionFacts::kOpensBlock) || kernel_size == 2) return true;
    return copies == 1 && consumers_.offset[op + 1] - consumers_.offset[op] == 1;
  }

  // How often the code of each member is generated: once for every index it is read at. A reader of the same shape passes
  // on the indices it is read at itself, any other makes one of its own (FusionNodeIndexingEvaluation). False when a
  // member may not be copied so often.
  bool count_copies(std::vector<Member>& kernel) {
    const auto size = static_cast<int32_t>(kernel.size());
    for (int32_t p = 0; p < size; ++p) place_[kernel[p].op] = p;
    uint64_t makers[kMaskBits];  // members whose indices a member is read at
    bool own[kMaskBits] = {};    // whether it is read at the kernel's own index, too
    bool fits = true;
    makers[size - 1] = 0;
    own[size - 1] = true;
    kernel[size - 1].copies = 1;
    for (int32_t p = size - 2; p >= 0 && fits; --p) {
      const int32_t op = kernel[p].op;
      makers[p] = 0;
      for (int32_t e = consumers_.offset[op]; e < consumers_.offset[op + 1]; ++e) {
        const int32_t q = place_[consumers_.list[e]];
        if (q < 0) continue;
        const bool passes_on = facts_.keeps_index[consumers_.edge[e]];
        makers[p] |= passes_on ? makers[q] : uint64_t{1} << q;
        own[p] |= passes_on && own[q];
      }
      int64_t copies = own[p];
      for (uint64_t left = makers[p]; left != 0; left &= left - 1) copies += kernel[std::countr_zero(left)].copies;
      kernel[p].copies = static_cast<int32_t>(std::min<int64_t>(copies, kManyCopies));
      fits = copy_fits(op, kernel[p].copies, kernel.size());
    }
    for (const Member& member : kernel) place_[member.op] = -1;
    return fits;
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

  static constexpr int64_t kManyCopies = 1 << 20;
  static constexpr int32_t kMaskBits = 64;
  const TaskGraph& graph_;
  const FusionFacts& facts_;
  const std::vector<int32_t>& devices_;
  const FusionRules& rules_;
  const int32_t max_ops_;
  const Neighbours& consumers_;
  std::vector<Member> alone_;                 // [ops]
  std::vector<std::vector<Member>> members_;  // [ops], by op; empty = the root alone
  std::vector<std::vector<int32_t>> homes_;   // [ops]: kernels that compute a fused operation
  std::vector<uint8_t> is_root_;
  std::vector<int32_t> stamp_, readers_;
  std::vector<double> wanted_;
  std::vector<std::vector<Member>> merged_;  // [readers]
  std::vector<int32_t> place_;               // [ops]: in the kernel at hand, else -1
  int32_t round_ = -1;
};

}  // namespace

bool fusible_consumer(const Op& op) {
  if (op.opcode == "reduce-window") return false;  // no emitter of XLA:CPU's fusions takes it
  return op.kind == OpKind::Elementwise || op.kind == OpKind::Move || op.kind == OpKind::Reduce;
}

bool fusible_producer(const Op& op) { return !op.is_output && fusible_consumer(op); }

FusionFacts fusion_facts(const TaskGraph& graph) {
  FusionFacts facts{consumers_of(graph), producers_of(graph), {}, {}};
  for (const Op& op : graph.ops) {
    uint8_t flags = 0;
    if (fusible_producer(op)) flags |= FusionFacts::kProducer;
    if (fusible_consumer(op)) flags |= FusionFacts::kConsumer;
    if (op.opcode == "broadcast") flags |= FusionFacts::kBroadcast;
    if (op.opcode == "reduce") flags |= FusionFacts::kReduction;
    if (opens_block(op.opcode)) flags |= FusionFacts::kOpensBlock;
    facts.flags.push_back(flags);
  }
  for (const Edge& edge : graph.edges)
    facts.keeps_index.push_back(graph.ops[edge.to].opcode == "transpose" ||
                                graph.ops[edge.to].dims == graph.ops[edge.from].dims);
  return facts;
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
  return fuse(graph, fusion_facts(graph), fusion, devices, rules);
}

Kernels fuse(const TaskGraph& graph, const FusionFacts& facts, const std::vector<int32_t>& fusion,
             const std::vector<int32_t>& devices, const FusionRules& rules) {
  Fuser fuser(graph, facts, devices, rules);
  std::vector<int32_t> order;
  for (auto i = static_cast<int32_t>(fusion.size()); i-- > 0;)
    if (fusion[i] > 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return fusion[a] > fusion[b]; });
  for (int32_t op : order) fuser.try_fuse(op);
  return fuser.take();
}

}  // namespace hone::sim
