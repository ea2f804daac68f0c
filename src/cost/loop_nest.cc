#include "cost/loop_nest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "cost/kernel_nodes.h"
#include "features/opcodes.h"

namespace hone::cost {

namespace {

constexpr int kRank = KernelNodes::kRank;
constexpr double kFewRows = 16;

// Vector operations per element; 0 for instructions without cost.
struct OpCost {
  double cost;
  bool special;
};
struct OpGroup {
  OpCost each;
  std::vector<std::string_view> opcodes;
};
OpCost cost_of(std::string_view opcode) {
  static const std::vector<OpGroup> groups = {
      {{0, false}, {"parameter", "constant", "broadcast", "bitcast", "reshape", "tuple", "get-tuple-element"}},
      {{0.2, false}, {"slice"}},
      {{0.5, false}, {"transpose", "copy", "iota", "dynamic-slice"}},
      {{1, false}, {"dynamic-update-slice", "reverse", "round-nearest-even", "convert", "reduce"}},
      {{1.5, false}, {"pad", "concatenate"}},
      {{4, false}, {"gather", "divide"}},
      {{5, false}, {"sqrt"}},
      {{6, false}, {"rsqrt"}},
      {{20, false}, {"remainder"}},
      {{12, true}, {"exponential"}},
      {{14, true}, {"log"}},
      {{16, true}, {"tanh", "logistic"}},
      {{18, true}, {"erf"}},
      {{20, true}, {"exponential-minus-one", "log-plus-one", "sine", "cosine"}},
      {{30, true}, {"tan", "cbrt"}},
      {{40, true}, {"power", "atan2"}}};
  for (const OpGroup& group : groups)
    if (std::find(group.opcodes.begin(), group.opcodes.end(), opcode) != group.opcodes.end()) return group.each;
  return {1, false};
}

OpCost op_cost(uint8_t number) {
  static const auto costs = [] {
    std::array<OpCost, std::numeric_limits<uint8_t>::max() + 1> all;
    for (size_t i = 0; i < all.size(); ++i) all[i] = cost_of(features::opcode_name(static_cast<int>(i)));
    return all;
  }();
  return costs[number];
}

// The loop that each dimension of a node's value depends on, and its step in elements.
struct Map {
  std::array<int8_t, kRank> axis;
  std::array<float, kRank> step;
  uint32_t scope = 0;
  Map() { axis.fill(-1), step.fill(1); }
  bool operator==(const Map&) const = default;
};

class LoopNestBuilder {
 public:
  explicit LoopNestBuilder(const KernelView& kernel)
      : kernel_(kernel), nodes_(kernel), maps_(kernel.nodes()), columns_(KernelNodes::columns()) {}

  LoopNest run() {
    classify();
    start();
    for (int64_t n = kernel_.nodes() - 1; n >= 0; --n) {
      for (int32_t user : nodes_.users(n)) {
        if (user == n) continue;  // in a file that is no graph of XLA's; its maps would grow while they are read
        for (const Map& map : maps_[user]) add_map(n, operand_map(n, user, map));
      }
      for (const Map& map : maps_[n]) use(n, map);
    }
    return std::move(out_);
  }

 private:
  float at(int64_t node, int c) const { return nodes_.at(node, c); }
  // A column of whole numbers; -1 for what is none of an int.
  int number(int64_t node, int c) const {
    constexpr float kMost = 1e9F;
    const float value = at(node, c);
    return value > -kMost && value < kMost ? static_cast<int>(value) : -1;
  }
  std::string_view opcode(int64_t node) const { return nodes_.opcode(node); }
  int rank(int64_t node) const { return nodes_.rank(node); }
  double dim(int64_t node, int d) const { return nodes_.dim(node, d); }

  void classify() {
    bool reduce = false, transpose = false, move = false, broadcast = false, other = false, dot = false, conv = false;
    double lanes = 1;
    for (int64_t n = 0; n < kernel_.nodes(); ++n) {
      const std::string_view op = opcode(n);
      reduce |= op == "reduce" || op == "reduce-window";
      transpose |= op == "transpose" || op == "copy";
      move |= op == "concatenate" || op == "slice" || op == "pad" || op == "dynamic-slice" ||
              op == "dynamic-update-slice" || op == "gather" || op == "reverse";
      broadcast |= op == "broadcast" && rank(n) > 0;
      dot |= op == "dot";
      conv |= op == "convolution";
      other |= op == "sort" || op == "scatter" || op == "while" || op == "fft" || op == "custom-call" ||
               op == "unknown" || op == "rng-bit-generator" || op == "cholesky" || op == "triangular-solve" ||
               op == "select-and-scatter" || op == "call" || op == "conditional" || op == "topk";
      if (op == "convolution" && at(n, columns_.groups) > 1) lanes = 0.25;  // few channels per group: strided, short
      if (op == "reduce" && at(n, columns_.reduces_minor) > 0) out_.reduces_minor = true;
    }
    out_.kind = conv        ? KernelClass::Convolution
                : dot       ? KernelClass::Dot
                : other     ? KernelClass::Other
                : reduce    ? KernelClass::Reduce
                : transpose ? KernelClass::Transpose
                : move      ? KernelClass::Move
                : broadcast ? KernelClass::Broadcast
                            : KernelClass::Elementwise;
    out_.bytes = kernel_.static_features[1] + kernel_.static_features[2];
    if (dot || conv) out_.flops = kernel_.static_features[0], out_.library_lanes = lanes;
  }

  // Results are written in the order of the first one's layout.
  void start() {
    for (int64_t n = 0; n < kernel_.nodes(); ++n) {
      if (!nodes_.is_result(n)) continue;
      if (out_.outputs == 0 && out_.extent.empty()) {
        out_.outputs = rank(n);
        out_.element_bytes = std::max(1.0f, at(n, columns_.element_bytes));
        for (int d = 0; d < out_.outputs; ++d) out_.extent.push_back(std::max(1.0, dim(n, d)));
        for (int d = out_.outputs - 1; d >= 0; --d)
          out_.order.push_back(std::clamp(number(n, columns_.layout + d), 0, out_.outputs - 1));
      }
      Map map;
      const int r = std::min(rank(n), out_.outputs);
      for (int d = 0; d < r; ++d) map.axis[d] = static_cast<int8_t>(d);
      map.scope = (1u << out_.outputs) - 1;
      maps_[n].push_back(map);
      out_.accesses.push_back(access(n, map));
      out_.accesses.back().written = true;
    }
    const int r = out_.outputs;
    out_.few_rows = r < 2 || out_.extent[r - 2] < kFewRows || out_.extent[r - 1] < kFewRows;
  }

  void add_map(int64_t n, const Map& map) {
    constexpr size_t kMost = 4;  // further access patterns of one value are ignored
    std::vector<Map>& maps = maps_[n];
    if (maps.size() < kMost && std::find(maps.begin(), maps.end(), map) == maps.end()) maps.push_back(map);
  }

  Map operand_map(int64_t operand, int64_t user, const Map& u) {
    const std::string_view op = opcode(user);
    if (op == "tuple") return maps_[operand].empty() ? u : maps_[operand].front();
    Map m;
    m.scope = u.scope;
    const int ro = rank(operand), ru = rank(user);
    if (op == "transpose" || op == "broadcast") {
      for (int i = 0; i < kRank; ++i) {
        const int d = number(user, columns_.dimensions + i);
        const int from = op == "transpose" ? i : d, to = op == "transpose" ? d : i;
        if (from >= 0 && from < ru && to >= 0 && to < ro) m.axis[to] = u.axis[from], m.step[to] = u.step[from];
      }
    } else if (op == "reduce" && ro > ru) {
      reduce_map(operand, user, u, m);
    } else if (op == "bitcast" || op == "reshape") {
      reshape_map(operand, user, u, m);
    } else {
      for (int k = 0; k < std::min(ro, ru); ++k) {  // if ranks differ, the fastest dimensions correspond
        const int to = ro == ru ? k : ro - 1 - k, from = ro == ru ? k : ru - 1 - k;
        m.axis[to] = u.axis[from];
        m.step[to] = u.step[from] * (op == "slice" ? std::max(1.0f, at(user, columns_.slice_strides + from)) : 1.0f);
      }
    }
    return m;
  }

  void reduce_map(int64_t operand, int64_t user, const Map& u, Map& m) {
    int next = 0;
    for (int d = 0; d < rank(operand); ++d) {
      bool reduced = false;
      for (int i = 0; i < kRank; ++i) reduced |= number(user, columns_.reduced + i) == d;
      if (reduced) {
        m.axis[d] = reduction_axis(dim(operand, d), d);
        if (m.axis[d] >= 0) m.scope |= 1u << m.axis[d];
      } else if (next < kRank) {
        m.axis[d] = u.axis[next], m.step[d] = u.step[next];
        ++next;
      }
    }
  }

  int8_t reduction_axis(double extent, int dimension) {
    for (const auto& [known, key] : reductions_)
      if (key == std::pair(extent, dimension)) return known;
    if (out_.extent.size() >= kMaxAxes) return -1;
    out_.extent.push_back(std::max(1.0, extent));
    reductions_.push_back({static_cast<int8_t>(out_.extent.size() - 1), {extent, dimension}});
    return reductions_.back().first;
  }

  // Consecutive dimensions with equal products form groups. The fastest dimensions of a group correspond to each other; the
  // slowest also depends on the user's slowest.
  void reshape_map(int64_t operand, int64_t user, const Map& u, Map& m) const {
    int i = rank(operand) - 1, k = rank(user) - 1;
    while (i >= 0 && k >= 0) {
      const int first_i = i, first_k = k;
      double po = dim(operand, i), pu = dim(user, k);
      while (po != pu && (po < pu ? i > 0 : k > 0)) (po < pu ? po *= dim(operand, --i) : pu *= dim(user, --k));
      if (first_i == i && first_k == k) {
        m.axis[i] = u.axis[k], m.step[i] = u.step[k];
      } else {
        m.axis[first_i] = u.axis[first_k], m.step[first_i] = u.step[first_k];
        if (i < first_i) m.axis[i] = u.axis[k];
      }
      --i, --k;
    }
  }

  Access access(int64_t n, const Map& map) const {
    Access a;
    a.element_bytes = std::max(1.0f, at(n, columns_.element_bytes));
    for (int d = 0; d < rank(n); ++d)
      if (map.axis[d] >= 0 && dim(n, d) > 1)
        a.stride_bytes[map.axis[d]] += at(n, columns_.strides + d) * a.element_bytes * map.step[d];
    return a;
  }

  void use(int64_t n, const Map& map) {
    const std::string_view op = opcode(n);
    if (op == "parameter" || (op == "constant" && rank(n) > 0)) {
      const Access a = access(n, map);
      if (std::find(out_.accesses.begin(), out_.accesses.end(), a) == out_.accesses.end()) out_.accesses.push_back(a);
    }
    const OpCost c = op_cost(kernel_.opcodes[n]);
    if (c.cost <= 0 || op == "dot" || op == "convolution") return;
    Work w{0, map.scope, c.cost, c.special};
    for (int d = 0; d < rank(n); ++d)
      if (map.axis[d] >= 0 && dim(n, d) > 1) w.depends |= 1u << map.axis[d];
    if (op == "reduce") w = reduce_work(n, w);
    if (op == "reduce-window") w.cost *= std::max(1.0f, at(n, columns_.window));
    out_.work.push_back(w);
  }

  // A reduction is computed once for every input element.
  Work reduce_work(int64_t n, Work w) {
    for (int i = 0; i < kRank; ++i) {
      const int d = number(n, columns_.reduced + i);
      if (d < 0) continue;
      for (size_t e = 0; e < kernel_.edge_to.size(); ++e) {
        const int32_t operand = kernel_.edge_from[e];
        if (kernel_.edge_to[e] != n || rank(operand) <= d) continue;
        const int8_t axis = reduction_axis(dim(operand, d), d);
        if (axis >= 0) w.scope |= 1u << axis, w.depends |= 1u << axis;
        break;
      }
    }
    return w;
  }

  const KernelView& kernel_;
  KernelNodes nodes_;
  std::vector<std::vector<Map>> maps_;
  const KernelNodes::Columns& columns_;
  std::vector<std::pair<int8_t, std::pair<double, int>>> reductions_;
  LoopNest out_;
};

}  // namespace

const char* kernel_class_name(KernelClass c) {
  static constexpr const char* kNames[kKernelClasses] = {"elementwise",           "broadcast", "transpose",   "reduce",
                                                         "concatenate/slice/pad", "dot",       "convolution", "other"};
  return kNames[static_cast<int>(c)];
}

LoopNest loop_nest_of(const KernelView& kernel) { return LoopNestBuilder(kernel).run(); }

}  // namespace hone::cost
