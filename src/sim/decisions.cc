#include "sim/decisions.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string>

#include "base/error.h"

namespace hone::sim {

namespace {

// An operation in a kernel. Readers that do not pass on their own index compute a new one, at which they read it.
struct Member {
  double evaluations = 1;
  uint64_t makers = 0;  // slots of the members that compute an index it is read at
  int32_t op = 0;
  int32_t copies = 1;  // of its code: one for every index it is read at
  uint8_t slot = 0;    // of the kernel; below its size
  bool own = true;     // also read at the kernel's own index
};

enum class Role : uint8_t { Root, Fused, Input };  // Root: a kernel writes its result

// How the members of a kernel that read an operation use it.
struct Want {
  double evaluations = 0;
  uint64_t makers = 0;
  int32_t stamp = -1;  // the round_ in which it was set
  int32_t copies = 0;
  bool own = false;
};

// Opcodes whose code opens a new basic block, so that earlier values are not reused: ElementalIrEmitter::OpInvalidatesCache.
bool opens_block(const std::string& opcode) {
  return opcode == "reduce" || opcode == "concatenate" || opcode == "pad" || opcode == "dynamic-update-slice";
}

// The kernels during fusion. A fused operation can be in several kernels.
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
        reductions_(graph.ops.size()),
        openers_(graph.ops.size()),
        role_(graph.ops.size(), Role::Root),
        wants_(graph.ops.size()),
        place_(graph.ops.size(), -1) {
    for (int32_t i = 0; i < graph.size(); ++i) {
      if (graph.ops[i].kind == OpKind::Input) role_[i] = Role::Input;
      reductions_[i] = (facts.flags[i] & FusionFacts::kReduction) != 0;
    }
  }

  // Moves `op` into all kernels that read it, or leaves everything as it is.
  void try_fuse(int32_t op) {
    if (!(facts_.flags[op] & FusionFacts::kProducer) || !find_readers(op)) return;
    if (members_[op].empty() ? !add_alone(op) : !merge_everywhere(op)) return;
    role_[op] = Role::Fused;
    members_[op].clear();
  }

  Kernels take() {
    Kernels out;
    const Neighbours& producers = facts_.producers;
    out.kernel_of.assign(graph_.ops.size(), -1);
    out.member_offset.push_back(0);
    out.read_offset.push_back(0);
    out.root.reserve(graph_.ops.size());
    for (int32_t root = 0; root < graph_.size(); ++root) {
      if (role_[root] != Role::Root) continue;
      out.kernel_of[root] = out.size();
      out.root.push_back(root);
      add_kernel(root, producers, out);
    }
    return out;
  }

 private:
  // Valid until the next change or call. Kernels of one operation are not stored in members_.
  std::span<const Member> members(int32_t root) {
    if (!members_[root].empty()) return members_[root];
    alone_.op = root;
    return {&alone_, 1};
  }

  const Member& member_of(int32_t root, int32_t op) {
    const std::span<const Member> list = members(root);
    return *std::lower_bound(list.begin(), list.end(), op, [](const Member& m, int32_t o) { return m.op < o; });
  }

  // Kernels that compute a fused operation.
  std::span<const int32_t> homes(int32_t op) const {
    return std::span(home_list_).subspan(homes_[op].begin, homes_[op].size);
  }
  void set_homes(int32_t op, const std::vector<int32_t>& kernels) {
    homes_[op] = {home_list_.size(), kernels.size()};
    home_list_.insert(home_list_.end(), kernels.begin(), kernels.end());
  }

  // Sets readers_ to the kernels that read `op`, and wants_ to how they use it. False if it cannot be fused into one of them.
  bool find_readers(int32_t op) {
    readers_.clear();
    ++round_;
    for (int32_t e = consumers_.offset[op]; e < consumers_.offset[op + 1]; ++e) {
      const int32_t consumer = consumers_.list[e], edge = consumers_.edge[e];
      if (!(facts_.flags[consumer] & FusionFacts::kConsumer)) return false;
      if (role_[consumer] == Role::Root)
        want(consumer, member_of(consumer, consumer), edge);
      else
        for (int32_t home : homes(consumer)) want(home, member_of(home, consumer), edge);
    }
    return !readers_.empty();
  }
  Want& want_of(int32_t reader) {
    Want& want = wants_[reader];
    if (want.stamp != round_) {
      want = {0, 0, round_, 0, false};
      readers_.push_back(reader);
    }
    return want;
  }
  void want(int32_t reader, const Member& by, int32_t edge) {
    Want& want = want_of(reader);
    want.evaluations = std::max(want.evaluations, by.evaluations * graph_.edges[edge].reads);
    if (rules_.max_copies <= 0) return;  // kernels may be larger than a mask
    if (facts_.keeps_index[edge]) {
      want.makers |= by.makers;
      want.own |= by.own;
    } else {
      want.makers |= uint64_t{1} << by.slot;
    }
  }

  // For an operation that nothing was fused into: each reader gains one member, none of whose producers it contains.
  bool add_alone(int32_t op) {
    for (int32_t reader : readers_)
      if (!fits_alone(op, reader)) return false;
    for (int32_t reader : readers_) insert(op, reader);
    set_homes(op, readers_);
    return true;
  }
  bool fits_alone(int32_t op, int32_t reader) {
    if (!devices_.empty() && devices_[op] != devices_[reader]) return false;
    const std::span<const Member> there = members(reader);
    Want& want = wants_[reader];
    if (there.size() + 1 > static_cast<size_t>(max_ops_) || want.evaluations > rules_.max_repeats) return false;
    if (rules_.max_copies <= 0) return true;
    if (reductions_[op] + reductions_[reader] > rules_.max_reductions) return false;
    const bool shared = consumers_.offset[op + 1] - consumers_.offset[op] != 1;
    int64_t copies = want.own;
    if (want.makers != 0)
      for (const Member& member : there)
        if (want.makers >> member.slot & 1) copies += member.copies;
    if (shared && openers_[reader] > 0)  // stricter rules apply to kernels of three and more operations
      for (const Member& member : there)
        if (member.op != reader && !copy_fits(member.op, member.copies, there.size() + 1)) return false;
    want.copies = static_cast<int32_t>(std::min<int64_t>(copies, kManyCopies));
    return copy_fits(op, want.copies, there.size() + 1);
  }
  void insert(int32_t op, int32_t reader) {
    std::vector<Member>& list = members_[reader];
    if (list.empty()) {
      list.reserve(8);
      list.emplace_back().op = reader;
    }
    const Want& want = wants_[reader];
    const auto slot = static_cast<uint8_t>(list.size());
    const auto at = std::lower_bound(list.begin(), list.end(), op, [](const Member& m, int32_t o) { return m.op < o; });
    list.insert(at, {want.evaluations, want.makers, op, want.copies, slot, want.own});
    reductions_[reader] += reductions_[op];
    openers_[reader] += (facts_.flags[op] & FusionFacts::kOpensBlock) != 0;
  }

  bool merge_everywhere(int32_t op) {
    for (int32_t reader : readers_)
      if (!has_room(op, reader)) return false;
    if (merged_.size() < readers_.size()) merged_.resize(readers_.size());
    for (size_t r = 0; r < readers_.size(); ++r)
      if (!merge(op, readers_[r], merged_[r])) return false;
    std::vector<int32_t> moved;
    for (const Member& member : members_[op]) {
      moved = readers_;
      for (int32_t home : homes(member.op))
        if (home != op && std::find(readers_.begin(), readers_.end(), home) == readers_.end()) moved.push_back(home);
      set_homes(member.op, moved);
    }
    for (size_t r = 0; r < readers_.size(); ++r) {
      members_[readers_[r]].swap(merged_[r]);
      reductions_[readers_[r]] = count(members_[readers_[r]], FusionFacts::kReduction);
      openers_[readers_[r]] = count(members_[readers_[r]], FusionFacts::kOpensBlock);
    }
    return true;
  }

  bool has_room(int32_t op, int32_t reader) {
    if (!devices_.empty() && devices_[op] != devices_[reader]) return false;
    const std::span<const Member> moved = members(op), there = members(reader);
    size_t together = there.size() + moved.size();
    if (together <= static_cast<size_t>(max_ops_)) return true;
    for (const Member& member : moved)
      together -= std::binary_search(there.begin(), there.end(), member,
                                     [](const Member& a, const Member& b) { return a.op < b.op; });
    return together <= static_cast<size_t>(max_ops_);
  }

  // Sets `out` to the union of the kernel `reader` and the kernel of `op`; false if the rules forbid it. An operation that
  // is in both is one member, with the larger number of evaluations.
  bool merge(int32_t op, int32_t reader, std::vector<Member>& out) {
    const std::span<const Member> moved = members(op), there = members(reader);
    out.clear();
    for (size_t a = 0, b = 0; a < there.size() || b < moved.size();) {
      const bool from_moved = a == there.size() || (b < moved.size() && moved[b].op < there[a].op);
      const bool both = !from_moved && b < moved.size() && moved[b].op == there[a].op;
      Member next = from_moved ? moved[b] : there[a];
      if (from_moved || both) {
        const double needed = moved[b].evaluations * wants_[reader].evaluations;
        if (needed > rules_.max_repeats) return false;
        next.evaluations = both ? std::max(next.evaluations, needed) : needed;
      }
      a += !from_moved;
      b += from_moved || both;
      out.push_back(next);
    }
    if (rules_.max_copies <= 0) return true;
    return count(out, FusionFacts::kReduction) <= rules_.max_reductions && count_copies(out);
  }

  uint8_t count(const std::vector<Member>& kernel, uint8_t flag) const {
    uint8_t found = 0;
    for (const Member& member : kernel) found += (facts_.flags[member.op] & flag) != 0 && found < 255;
    return found;
  }

  // XLA's limits on generated code, for one operation.
  bool copy_fits(int32_t op, int32_t copies, size_t kernel_size) const {
    const uint8_t flags = facts_.flags[op];
    if (flags & FusionFacts::kBroadcast) return true;
    if (copies > rules_.max_copies) return false;
    if (!(flags & FusionFacts::kOpensBlock) || kernel_size == 2) return true;
    return copies == 1 && consumers_.offset[op + 1] - consumers_.offset[op] == 1;
  }

  // Counts how often the code of each member is generated: once for every index it is read at. A reader of the same shape
  // passes on the indices it is read at itself, any other computes one of its own (FusionNodeIndexingEvaluation). False if
  // a member has too many copies.
  bool count_copies(std::vector<Member>& kernel) {
    const auto size = static_cast<int32_t>(kernel.size());
    for (int32_t p = 0; p < size; ++p) {
      place_[kernel[p].op] = p;
      kernel[p].slot = static_cast<uint8_t>(p);
    }
    bool fits = true;
    kernel[size - 1].makers = 0;
    kernel[size - 1].own = true;
    kernel[size - 1].copies = 1;
    for (int32_t p = size - 2; p >= 0 && fits; --p) {
      Member& member = kernel[p];
      member.makers = 0;
      member.own = false;
      for (int32_t e = consumers_.offset[member.op]; e < consumers_.offset[member.op + 1]; ++e) {
        const int32_t q = place_[consumers_.list[e]];
        if (q < 0) continue;
        const bool passes_on = facts_.keeps_index[consumers_.edge[e]];
        member.makers |= passes_on ? kernel[q].makers : uint64_t{1} << q;
        member.own |= passes_on && kernel[q].own;
      }
      int64_t copies = member.own;
      for (uint64_t left = member.makers; left != 0; left &= left - 1) copies += kernel[std::countr_zero(left)].copies;
      member.copies = static_cast<int32_t>(std::min<int64_t>(copies, kManyCopies));
      fits = copy_fits(member.op, member.copies, kernel.size());
    }
    for (const Member& member : kernel) place_[member.op] = -1;
    return fits;
  }

  void add_kernel(int32_t root, const Neighbours& producers, Kernels& out) {
    const std::span<const Member> list = members(root);
    readers_.clear();  // here: the operations that the kernel reads
    ++round_;
    for (const Member& member : list) {
      out.member.push_back(member.op);
      out.evaluations.push_back(member.evaluations);
      for (int32_t e = producers.offset[member.op]; e < producers.offset[member.op + 1]; ++e) {
        const int32_t from = producers.list[e];
        if (role_[from] == Role::Fused) continue;  // computed inside
        Want& read = want_of(from);
        const double share = std::min(1.0, member.evaluations * graph_.edges[producers.edge[e]].reads);
        read.evaluations = std::max(read.evaluations, share);
      }
    }
    std::sort(readers_.begin(), readers_.end());
    for (int32_t from : readers_) {
      out.read.push_back(from);
      out.read_bytes.push_back(graph_.ops[from].output_bytes * wants_[from].evaluations);
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
  Member alone_;                              // of a kernel of one operation
  std::vector<std::vector<Member>> members_;  // [ops], by op; empty = the root alone
  struct Range {
    size_t begin = 0, size = 0;
  };
  std::vector<Range> homes_;                   // [ops]: in home_list_
  std::vector<int32_t> home_list_;             // append-only: moved operations leave unused ranges
  std::vector<uint8_t> reductions_, openers_;  // [ops]: number in the kernel of a root
  std::vector<Role> role_;                     // [ops]
  std::vector<int32_t> readers_;
  std::vector<Want> wants_;                  // [ops]: of readers_
  std::vector<std::vector<Member>> merged_;  // [readers]
  std::vector<int32_t> place_;               // [ops]: index in the current kernel, else -1
  int32_t round_ = -1;
};

}  // namespace

bool fusible_consumer(const Op& op) {
  if (op.opcode == "reduce-window") return false;  // XLA:CPU's fusion emitters do not support it
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
