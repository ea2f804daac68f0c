#include "cost/kernel_demand.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"
#include "features/columns.h"
#include "features/opcodes.h"

namespace hone::cost {

namespace {

constexpr int kRank = 6;  // dimensions a node's features hold
constexpr double kLine = 64;
constexpr double kCodeVectorBits = 256;  // XLA:CPU's own preference, whatever the machine could do
constexpr int kVectorRegisters = 16;
constexpr double kFewRows = 16;

int column(const std::vector<features::Column>& columns, const std::string& name) {
  for (size_t i = 0; i < columns.size(); ++i)
    if (columns[i].name == name) return static_cast<int>(i);
  throw InternalError("no feature column " + name);
}

struct NodeColumns {
  int dims, layout, strides, dimensions, element_bytes, reduced, reduces_minor, window, groups, is_output,
      slice_strides;
};
const NodeColumns& node_columns_used() {
  const auto at = [](const char* name) { return column(features::node_columns(), name); };
  static const NodeColumns c = {
      at("shape_dims_0"),        at("layout_0"),      at("strides_0"),      at("dimensions_0"),
      at("element_bytes"),       at("reduce_dims_0"), at("reduces_minor"),  at("window_size_product"),
      at("feature_group_count"), at("is_output"),     at("slice_strides_0")};
  return c;
}

struct OptionColumns {
  int tile, tiled, loop, eigen, ynn, llvm, naive;
};
const OptionColumns& option_columns() {
  const auto at = [](const char* name) { return column(features::tile_columns(), name); };
  static const OptionColumns c = {at("tile_0"),      at("tiled_emitter"), at("loop_emitter"), at("library_eigen"),
                                  at("library_ynn"), at("library_llvm"),  at("library_naive")};
  return c;
}

// Vector operations per element; 0 for what costs nothing by itself.
struct OpCost {
  double cost;
  bool special;
};
struct OpGroup {
  OpCost each;
  std::vector<std::string_view> opcodes;
};
OpCost op_cost(std::string_view opcode) {
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

// Which loop moves each dimension of a node's value, and by how many elements.
struct Map {
  std::array<int8_t, kRank> axis;
  std::array<float, kRank> step;
  uint32_t scope = 0;
  Map() { axis.fill(-1), step.fill(1); }
  bool operator==(const Map&) const = default;
};

class Anatomist {
 public:
  explicit Anatomist(const KernelView& kernel) : kernel_(kernel), maps_(kernel.nodes()), columns_(node_columns_used()) {
    const auto width = static_cast<size_t>(features::node_feature_count());
    if (kernel.node_features.size() != width * kernel.opcodes.size() ||
        kernel.static_features.size() != static_cast<size_t>(features::static_feature_count()))
      throw Error("a kernel's features have another width", std::string(kernel.fingerprint),
                  "collect the data set again");
    users_.resize(kernel.nodes());
    for (size_t e = 0; e < kernel.edge_from.size(); ++e) users_[kernel.edge_from[e]].push_back(kernel.edge_to[e]);
  }

  KernelAnatomy run() {
    classify();
    start();
    for (int64_t n = kernel_.nodes() - 1; n >= 0; --n) {
      for (int32_t user : users_[n])
        for (const Map& map : maps_[user]) add_map(n, operand_map(n, user, map));
      for (const Map& map : maps_[n]) use(n, map);
    }
    return std::move(out_);
  }

 private:
  float at(int64_t node, int c) const { return kernel_.node_features[node * features::node_feature_count() + c]; }
  std::string_view opcode(int64_t node) const { return features::opcode_name(kernel_.opcodes[node]); }
  int rank(int64_t node) const {
    int r = 0;
    while (r < kRank && at(node, columns_.layout + r) >= 0) ++r;
    return r;
  }
  double dim(int64_t node, int d) const { return at(node, columns_.dims + d); }
  double elements(int64_t node) const {
    double product = 1;
    for (int d = 0; d < rank(node); ++d) product *= dim(node, d);
    return product;
  }
  bool is_result(int64_t n) const { return at(n, columns_.is_output) > 0 && opcode(n) != "tuple"; }

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

  // The results are written in the order of the first one's layout.
  void start() {
    for (int64_t n = 0; n < kernel_.nodes(); ++n) {
      if (!is_result(n)) continue;
      if (out_.outputs == 0 && out_.extent.empty()) {
        out_.outputs = rank(n);
        out_.element_bytes = std::max(1.0f, at(n, columns_.element_bytes));
        for (int d = 0; d < out_.outputs; ++d) out_.extent.push_back(std::max(1.0, dim(n, d)));
        for (int d = out_.outputs - 1; d >= 0; --d)
          out_.order.push_back(std::clamp(static_cast<int>(at(n, columns_.layout + d)), 0, out_.outputs - 1));
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
    constexpr size_t kMost = 4;  // more ways to walk one value than this say nothing new
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
        const int d = static_cast<int>(at(user, columns_.dimensions + i));
        const int from = op == "transpose" ? i : d, to = op == "transpose" ? d : i;
        if (from < ru && to >= 0 && to < ro) m.axis[to] = u.axis[from], m.step[to] = u.step[from];
      }
    } else if (op == "reduce" && ro > ru) {
      reduce_map(operand, user, u, m);
    } else if (op == "bitcast" || op == "reshape") {
      reshape_map(operand, user, u, m);
    } else {
      for (int k = 0; k < std::min(ro, ru); ++k) {  // the fastest dimensions are alike where ranks differ
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
      for (int i = 0; i < kRank; ++i) reduced |= static_cast<int>(at(user, columns_.reduced + i)) == d;
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

  // Dimensions whose products agree form groups; the fastest of each group answer to each other, a slower one moves in
  // steps of what lies below it.
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
    const OpCost c = op_cost(op);
    if (c.cost <= 0 || op == "dot" || op == "convolution") return;
    Work w{0, map.scope, c.cost, c.special};
    for (int d = 0; d < rank(n); ++d)
      if (map.axis[d] >= 0 && dim(n, d) > 1) w.depends |= 1u << map.axis[d];
    if (op == "reduce") w = reduce_work(n, w);
    if (op == "reduce-window") w.cost *= std::max(1.0f, at(n, columns_.window));
    out_.work.push_back(w);
  }

  // A reduction works once for every element it takes in.
  Work reduce_work(int64_t n, Work w) {
    for (int i = 0; i < kRank; ++i) {
      const int d = static_cast<int>(at(n, columns_.reduced + i));
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
  std::vector<std::vector<int32_t>> users_;
  std::vector<std::vector<Map>> maps_;
  const NodeColumns& columns_;
  std::vector<std::pair<int8_t, std::pair<double, int>>> reductions_;
  KernelAnatomy out_;
};

struct Loop {
  int axis;
  double trips;
};

double footprint_of_all(const KernelAnatomy& kernel, const PerAxis& extent) {
  double sum = 0;
  for (const Access& a : kernel.accesses) sum += footprint_bytes(a, extent);
  return sum;
}

// Bytes that come into a cache of `capacity` bytes in one run that follows another: as many trips of the inner loops as
// fit find in the cache what they share; every further trip fetches its part anew.
double traffic_bytes(const KernelAnatomy& kernel, const std::vector<Loop>& loops, double capacity) {
  PerAxis extent, whole;
  extent.fill(1), whole.fill(1);
  std::copy(kernel.extent.begin(), kernel.extent.end(), whole.begin());
  const double all = footprint_of_all(kernel, whole);
  if (all <= capacity) return 0;
  size_t next = loops.size();
  double outside = 1;  // trips of the loops that do not fit
  while (next > 0) {
    const Loop& loop = loops[--next];
    const double before = extent[loop.axis];
    const auto with = [&](double trips) {
      extent[loop.axis] = std::min(whole[loop.axis], before * trips);
      return footprint_of_all(kernel, extent);
    };
    if (with(loop.trips) <= capacity) continue;
    double low = 1, high = loop.trips;
    while (high - low > 1) {
      const double middle = std::floor((low + high) / 2);
      (with(middle) <= capacity ? low : high) = middle;
    }
    with(low);
    outside = loop.trips / low;
    break;
  }
  const double inside = footprint_of_all(kernel, extent);
  while (next > 0) outside *= loops[--next].trips;
  return std::max(inside * outside, all);
}

std::vector<double> tile_of(const KernelAnatomy& kernel, std::span<const float> option) {
  const OptionColumns& c = option_columns();
  if (option[c.tiled] <= 0) return {};
  std::vector<double> sizes;
  for (int i = 0; i < kRank && option[c.tile + i] > 0; ++i) sizes.push_back(option[c.tile + i]);
  if (static_cast<int>(sizes.size()) < kernel.outputs) return {};
  sizes.erase(sizes.begin(), sizes.end() - kernel.outputs);
  for (int d = 0; d < kernel.outputs; ++d) sizes[d] = std::min(sizes[d], kernel.extent[d]);
  return sizes;
}

uint32_t axes_moving(const Access& access) {
  uint32_t axes = 0;
  for (int a = 0; a < kMaxAxes; ++a) axes |= (access.stride_bytes[a] != 0 ? 1u : 0u) << a;
  return axes;
}

void count_loop_work(const KernelAnatomy& k, const std::vector<Loop>& loops, double lanes, Demand& out) {
  // How often code stands to run: what does not change within the innermost loops is moved out of them.
  const auto count = [&](uint32_t depends, uint32_t scope) {
    double trips = 1;
    bool hoisted = true;
    for (size_t i = loops.size(); i-- > 0;) {
      const uint32_t bit = 1u << loops[i].axis;
      if (!(scope & bit)) continue;
      hoisted = hoisted && !(depends & bit);
      if (!hoisted) trips *= loops[i].trips;
    }
    return trips;
  };
  const auto one_by_one = [&](const Access& a) {
    return !loops.empty() && a.stride_bytes[loops.back().axis] > a.element_bytes;
  };
  const bool strided = std::any_of(k.accesses.begin(), k.accesses.end(), one_by_one);
  for (const Work& w : k.work) {
    const double times = count(w.depends, w.scope) * w.cost;
    const bool reduced = w.scope >> k.outputs;  // without leave to reorder, sums are chains
    if (strided || reduced)
      out.scalar_ops += times;
    else
      (w.special ? out.special_ops : out.vector_ops) += times / lanes;
  }
  for (const Access& a : k.accesses) {
    const double times = count(axes_moving(a), ~0u);
    (one_by_one(a) ? out.scalar_ops : out.vector_ops) += one_by_one(a) ? times : times / lanes;
  }
  out.rows = 1;
  for (size_t i = 0; i + 1 < loops.size(); ++i) out.rows *= loops[i].trips;
}

void count_tile_work(const KernelAnatomy& k, const std::vector<double>& tile, double lanes, Demand& out) {
  double tiles = 1;
  for (int d = 0; d < k.outputs; ++d) tiles *= std::ceil(k.extent[d] / tile[d]);
  const int minor = k.order.empty() ? -1 : k.order.back();
  const double run = minor < 0 ? 1 : k.reduces_minor ? lanes : tile[minor];
  const double filled = run / (lanes * std::ceil(run / lanes));
  double registers = 1;
  for (int d = 0; d < k.outputs; ++d) registers *= d == minor ? std::ceil(tile[d] / lanes) : tile[d];
  const auto elements = [&](uint32_t axes) {
    double product = 1;
    for (size_t a = 0; a < k.extent.size(); ++a)
      if (axes >> a & 1) product *= static_cast<int>(a) < k.outputs ? tile[a] : k.extent[a];
    return product;
  };
  for (const Work& w : k.work) {
    const double vectors = tiles * elements(w.depends) * w.cost / (lanes * filled);
    (w.special ? out.special_ops : out.vector_ops) += vectors;
    if (registers > kVectorRegisters) out.spill_ops += tiles * elements(w.depends) / (lanes * filled);
  }
  for (const Access& a : k.accesses) {
    const bool one_by_one = minor >= 0 && a.stride_bytes[minor] > a.element_bytes;
    const double touched = tiles * elements(axes_moving(a));
    (one_by_one ? out.scalar_ops : out.vector_ops) += one_by_one ? touched : touched / (lanes * filled);
  }
  out.tiles = tiles;
  double inside = 1;
  for (int d = 0; d < k.outputs; ++d) inside *= d == minor ? 1 : tile[d];
  out.rows = tiles * inside;
}

}  // namespace

const char* kernel_class_name(KernelClass c) {
  static constexpr const char* kNames[kKernelClasses] = {"elementwise",           "broadcast", "transpose",   "reduce",
                                                         "concatenate/slice/pad", "dot",       "convolution", "other"};
  return kNames[static_cast<int>(c)];
}

const char* emitter_name(Emitter e) {
  static constexpr const char* kNames[kEmitters] = {"loop", "tiled", "library"};
  return kNames[static_cast<int>(e)];
}

KernelAnatomy anatomy_of(const KernelView& kernel) { return Anatomist(kernel).run(); }

double footprint_bytes(const Access& access, const PerAxis& extent) {
  std::array<std::pair<double, double>, kMaxAxes> walks;  // stride, extent
  int count = 0;
  for (int a = 0; a < kMaxAxes; ++a)
    if (access.stride_bytes[a] > 0 && extent[a] > 1) walks[count++] = {access.stride_bytes[a], extent[a]};
  std::sort(walks.begin(), walks.begin() + count);
  double run = access.element_bytes, pieces = 1;
  for (int i = 0; i < count; ++i) {
    const auto [stride, times] = walks[i];
    if (pieces == 1 && stride <= std::max(run, kLine))
      run += (times - 1) * stride;
    else
      pieces *= times;
  }
  return pieces * std::max(run, kLine);
}

Demand demand_of(const KernelAnatomy& k, std::span<const float> option, const features::Cpu& cpu) {
  const OptionColumns& c = option_columns();
  if (option.size() != static_cast<size_t>(features::tile_feature_count()))
    throw Error("an option's features have another width", "", "collect the data set again");
  Demand out;
  const std::vector<double> tile = tile_of(k, option);
  const double lanes = std::min<double>(kCodeVectorBits, static_cast<double>(cpu.vector_bits)) / 8 / k.element_bytes;
  const bool library = k.flops > 0 && option[c.loop] <= 0 && tile.empty();
  std::vector<Loop> loops;
  if (library) {
    out.emitter = Emitter::Library;
    out.matmul_ops = k.flops / 2 / (lanes * k.library_lanes);
  } else if (!tile.empty()) {
    out.emitter = Emitter::Tiled;
    for (int a : k.order) loops.push_back({a, std::ceil(k.extent[a] / tile[a])});
    for (size_t a = k.outputs; a < k.extent.size(); ++a) loops.push_back({static_cast<int>(a), k.extent[a]});
    for (int a : k.order) loops.push_back({a, tile[a]});
    count_tile_work(k, tile, std::max(1.0, lanes), out);
  } else {
    for (int a : k.order) loops.push_back({a, k.extent[a]});
    for (size_t a = k.outputs; a < k.extent.size(); ++a) loops.push_back({static_cast<int>(a), k.extent[a]});
    count_loop_work(k, loops, std::max(1.0, lanes), out);
    if (k.flops > 0) out.scalar_ops += k.flops / 2;
  }
  const double caches[] = {static_cast<double>(cpu.l1_bytes), static_cast<double>(cpu.l2_bytes),
                           static_cast<double>(cpu.l3_bytes)};
  for (int level = 0; level < 3; ++level) {
    if (caches[level] <= 0) continue;
    if (!library) {
      out.bytes[level] = traffic_bytes(k, loops, caches[level]);
      continue;
    }
    // Libraries block their loops: each array comes in about once.
    out.bytes[level] = k.bytes > caches[level] ? k.bytes : 0;
  }
  return out;
}

}  // namespace hone::cost
