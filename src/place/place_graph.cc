#include "place/place_graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace hone::place {

namespace {

using sim::OpKind;

bool is_one_of(std::string_view opcode, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), opcode) != names.end();
}
bool is_input(const Node& n) { return is_one_of(n.opcode, {"parameter", "constant", "partition-id", "replica-id"}); }
// Instructions that only rename a value.
bool is_alias(const Node& n) {
  return is_one_of(n.opcode, {"bitcast", "tuple", "get-tuple-element", "optimization-barrier", "after-all", "domain",
                              "add-dependency"});
}
bool is_control(const Node& n) { return is_one_of(n.opcode, {"while", "conditional", "call", "async-start"}); }

OpKind kind_of_opcode(std::string_view opcode) {
  if (is_one_of(opcode, {"dot", "convolution"})) return OpKind::Matrix;
  if (is_one_of(opcode, {"reduce", "reduce-window"})) return OpKind::Reduce;
  if (is_one_of(opcode, {"reshape", "transpose", "copy", "slice", "dynamic-slice", "dynamic-update-slice",
                         "concatenate", "pad", "reverse", "gather"}))
    return OpKind::Move;
  if (is_one_of(opcode, {"while", "conditional", "call"})) return OpKind::Control;
  if (is_one_of(opcode, {"scatter",
                         "sort",
                         "custom-call",
                         "rng",
                         "rng-bit-generator",
                         "fft",
                         "cholesky",
                         "triangular-solve",
                         "select-and-scatter",
                         "all-reduce",
                         "all-gather",
                         "all-to-all",
                         "collective-permute",
                         "reduce-scatter",
                         "infeed",
                         "outfeed",
                         "send",
                         "recv",
                         "topk",
                         "map",
                         "rng-get-and-update-state",
                         "batch-norm-training",
                         "batch-norm-inference",
                         "fusion"}))
    return OpKind::Other;
  return OpKind::Elementwise;
}
bool is_special(std::string_view opcode) {
  return is_one_of(opcode, {"exponential", "exponential-minus-one", "log", "log-plus-one", "logistic", "tanh", "tan",
                            "power", "sqrt", "rsqrt", "cbrt", "cosine", "sine", "atan2", "erf", "divide", "remainder"});
}
bool is_arithmetic(std::string_view opcode) {
  return kind_of_opcode(opcode) == OpKind::Elementwise && !is_special(opcode) &&
         !is_one_of(opcode, {"broadcast", "iota", "convert", "bitcast-convert", "copy"});
}

double elements_of(const Shape& shape) { return static_cast<double>(std::max<int64_t>(1, shape.elements())); }
double product_at(const std::vector<int64_t>& dims, const std::vector<int64_t>& places) {
  double out = 1;
  for (int64_t place : places)
    if (place >= 0 && place < static_cast<int64_t>(dims.size())) out *= static_cast<double>(dims[place]);
  return out;
}

// Counts the work of the module's instructions.
class Counter {
 public:
  Counter(const HloGraph& module, const GraphSources& sources)
      : module_(module), sources_(sources), known_(module.computations.size()) {}

  InstructionCost of(const Node& n) const {
    if (const auto known = sources_.costs.find(n.name); known != sources_.costs.end()) return known->second;
    if (is_input(n) || is_alias(n)) return {};
    if (is_control(n)) return of_control(n);
    InstructionCost cost = n.opcode == "fusion" ? of_fusion(n) : arithmetic(n);
    for (int32_t operand : n.operands) cost.bytes_read += static_cast<double>(module_.nodes[operand].shape.bytes());
    cost.bytes_written = static_cast<double>(n.shape.bytes());
    // In-place updates and slices access only the part.
    if (n.opcode == "dynamic-update-slice" && n.operands.size() > 1) {
      const double part = static_cast<double>(module_.nodes[n.operands[1]].shape.bytes());
      cost.bytes_read = cost.bytes_written = part;
    }
    if (is_one_of(n.opcode, {"dynamic-slice", "slice", "gather"})) cost.bytes_read = cost.bytes_written;
    return cost;
  }

 private:
  InstructionCost arithmetic(const Node& n) const {
    InstructionCost cost;
    if (is_input(n) || is_alias(n)) return cost;
    const double out = elements_of(n.shape);
    if (is_special(n.opcode)) cost.transcendentals = out;
    if (is_arithmetic(n.opcode)) cost.flops = out;
    if (n.operands.empty()) return cost;
    const Shape& lhs = module_.nodes[n.operands[0]].shape;
    if (n.opcode == "dot") cost.flops = 2 * out * product_at(lhs.dims, n.dot.lhs_contracting);
    if (n.opcode == "convolution" && n.operands.size() > 1) {
      const Shape& kernel = module_.nodes[n.operands[1]].shape;
      cost.flops = 2 * out * product_at(kernel.dims, n.convolution.kernel_spatial) *
                   product_at(kernel.dims, {n.convolution.kernel_input_feature});
    }
    if (n.opcode == "reduce" || n.opcode == "scatter")
      cost.flops = elements_of(module_.nodes[n.operands[n.opcode == "scatter" ? n.operands.size() - 1 : 0]].shape);
    if (n.opcode == "reduce-window" || n.opcode == "select-and-scatter") {
      cost.flops = out;
      for (const WindowDimension& d : n.window) cost.flops *= static_cast<double>(std::max<int64_t>(1, d.size));
    }
    if (n.opcode == "sort") cost.flops = elements_of(lhs) * std::log2(std::max(2.0, elements_of(lhs)));
    return cost;
  }
  InstructionCost of_fusion(const Node& n) const {
    InstructionCost cost;
    for (int32_t called : n.called)
      for (int32_t i = module_.computations[called].first; i < module_.computations[called].last; ++i) {
        const InstructionCost inner = arithmetic(module_.nodes[i]);
        cost.flops += inner.flops;
        cost.transcendentals += inner.transcendentals;
      }
    return cost;
  }
  // Counted once: what is called by many is counted by each of them.
  const InstructionCost& of_computation(int32_t index) const {
    if (!known_[index]) known_[index] = sum_of(index);
    return *known_[index];
  }
  InstructionCost sum_of(int32_t index) const {
    InstructionCost sum;
    for (int32_t i = module_.computations[index].first; i < module_.computations[index].last; ++i) {
      const InstructionCost one = of(module_.nodes[i]);
      sum.flops += one.flops;
      sum.transcendentals += one.transcendentals;
      sum.bytes_read += one.bytes_read;
      sum.bytes_written += one.bytes_written;
    }
    return sum;
  }
  // A loop's computations count once per trip; of a conditional's branches the one with the most data counts.
  InstructionCost of_control(const Node& n) const {
    InstructionCost sum;
    for (int32_t called : n.called) {
      const InstructionCost& one = of_computation(called);
      if (n.opcode == "conditional") {
        if (one.bytes_read + one.bytes_written >= sum.bytes_read + sum.bytes_written) sum = one;
        continue;
      }
      sum.flops += one.flops;
      sum.transcendentals += one.transcendentals;
      sum.bytes_read += one.bytes_read;
      sum.bytes_written += one.bytes_written;
    }
    double trips = 1;
    if (n.opcode == "while") {
      const auto known = sources_.trip_counts.find(n.name);
      trips = static_cast<double>(known == sources_.trip_counts.end() ? kUnknownTrips : known->second);
    }
    return {sum.flops * trips, sum.transcendentals * trips, sum.bytes_read * trips, sum.bytes_written * trips};
  }

  const HloGraph& module_;
  const GraphSources& sources_;
  mutable std::vector<std::optional<InstructionCost>> known_;  // [computations]
};

// How often one evaluation of `consumer` reads each element of its operand number `operand`.
double reads_of(const HloGraph& module, const Node& consumer, size_t operand) {
  const Shape& from = module.nodes[consumer.operands[operand]].shape;
  const double in = elements_of(from), out = elements_of(consumer.shape);
  const std::string& op = consumer.opcode;
  if (op == "broadcast") return out / in;
  if (is_one_of(op, {"slice", "dynamic-slice", "gather"}) && operand == 0) return out / in;
  if (op == "dot")
    return out / in * product_at(module.nodes[consumer.operands[0]].shape.dims, consumer.dot.lhs_contracting);
  if (op == "reduce-window" && operand == 0) {
    double window = 1;
    for (const WindowDimension& d : consumer.window) window *= static_cast<double>(std::max<int64_t>(1, d.size));
    return out * window / in;
  }
  return 1;
}

// The only instruction of a fusion that computes something, or null when there are several.
const Node* single_inside(const HloGraph& module, const Node& fusion) {
  const Node* found = nullptr;
  for (int32_t called : fusion.called)
    for (int32_t i = module.computations[called].first; i < module.computations[called].last; ++i) {
      const Node& n = module.nodes[i];
      if (is_input(n) || is_alias(n)) continue;
      if (found) return nullptr;
      found = &n;
    }
  return found;
}

class GraphBuilder {
 public:
  GraphBuilder(const HloGraph& module, const GraphSources& sources)
      : module_(module), entry_(module.computations.at(module.entry)), sources_(sources), counter_(module, sources) {}

  ProgramGraph build() {
    out_.graph.name = module_.name;
    op_of_.assign(module_.nodes.size(), -1);
    for (int32_t i = entry_.first; i < entry_.last; ++i)
      if (!is_alias(module_.nodes[i])) add(i);
    mark_outputs(entry_.root, -1);
    std::map<std::string, std::string> instruction_of;
    for (size_t i = 0; i < out_.instructions.size(); ++i) instruction_of[out_.graph.ops[i].name] = out_.instructions[i];
    out_.graph = sim::sorted(std::move(out_.graph));
    for (size_t i = 0; i < out_.instructions.size(); ++i) out_.instructions[i] = instruction_of[out_.graph.ops[i].name];
    return std::move(out_);
  }

 private:
  // The source of a value: an operation, and the share of its result.
  struct Source {
    int32_t op = -1;
    double share = 1;
  };

  void add(int32_t index) {
    const Node& n = module_.nodes[index];
    const Node* inside = n.opcode == "fusion" ? single_inside(module_, n) : nullptr;
    const Node& working = inside ? *inside : n;
    sim::Op op;
    const auto before = sources_.names.find(working.name);
    op.name = sources_.whole_instructions ? n.name : before == sources_.names.end() ? working.name : before->second;
    if (names_.count(op.name)) op.name = n.name;
    names_.insert(op.name);
    op.opcode = working.opcode;
    op.kind = is_input(n) ? OpKind::Input : kind_of(n, inside);
    op.output_bytes = static_cast<double>(n.shape.bytes());
    op.dims = n.shape.dims;
    const InstructionCost cost = counter_.of(n);
    op.flops = cost.flops;
    op.special = cost.transcendentals;
    const int32_t here = out_.graph.size();
    op_of_[index] = here;
    std::map<int32_t, double> reads;  // by producer; the maximum over the paths from it
    double counted = 0;               // bytes read through edges
    for (size_t k = 0; k < n.operands.size(); ++k) {
      std::vector<Source> sources;
      trace(n.operands[k], -1, sources);
      const double repeats = inside ? reads_inside(n, *inside, k) : reads_of(module_, n, k);
      for (const Source& source : sources) {
        double& most = reads[source.op];
        most = std::max(most, repeats * source.share);
      }
    }
    for (const auto& [from, times] : reads) {
      out_.graph.edges.push_back({from, here, times});
      counted += std::min(1.0, times) * out_.graph.ops[from].output_bytes;
    }
    // The bytes written may differ from the result's; what loops and calls read besides their operands is added.
    op.written_bytes = std::max(0.0, cost.bytes_written);
    if (op.kind == OpKind::Control) op.written_bytes += std::max(0.0, cost.bytes_read - counted);
    if (op.kind == OpKind::Input) op.written_bytes = op.flops = op.special = 0;
    out_.graph.ops.push_back(std::move(op));
    out_.instructions.push_back(n.name);
  }

  OpKind kind_of(const Node& n, const Node* inside) const {
    if (inside) return kind_of_opcode(inside->opcode);
    if (n.opcode != "fusion") return is_control(n) ? OpKind::Control : kind_of_opcode(n.opcode);
    for (int32_t called : n.called)
      for (int32_t i = module_.computations[called].first; i < module_.computations[called].last; ++i)
        if (kind_of_opcode(module_.nodes[i].opcode) == OpKind::Matrix) return OpKind::Matrix;
    return OpKind::Other;
  }

  // Reads of operand k of a fusion by the one instruction inside, looking through bitcasts.
  double reads_inside(const Node& fusion, const Node& inside, size_t k) const {
    for (size_t o = 0; o < inside.operands.size(); ++o) {
      int32_t at = inside.operands[o];
      while (is_alias(module_.nodes[at]) && !module_.nodes[at].operands.empty()) at = module_.nodes[at].operands[0];
      if (module_.nodes[at].opcode == "parameter" && module_.nodes[at].parameter_number == static_cast<int64_t>(k))
        return reads_of(module_, inside, o);
    }
    return 1;
  }

  // The operations behind the value of a node (its tuple element, -1 = all of it). Each way to it counts once: tuples of tuples would
  // have a way for each of their leaves.
  void trace(int32_t index, int64_t element, std::vector<Source>& sources) const {
    std::vector<std::pair<int32_t, int64_t>> open = {{index, element}};
    std::set<std::pair<int32_t, int64_t>> seen;
    while (!open.empty()) {
      const auto [at, part] = open.back();
      open.pop_back();
      if (!seen.emplace(at, part).second) continue;
      const Node& n = module_.nodes[at];
      if (op_of_[at] >= 0) {
        sources.push_back({op_of_[at], share_of(n.shape, part)});
      } else if (n.opcode == "tuple" && part >= 0 && part < static_cast<int64_t>(n.operands.size())) {
        open.emplace_back(n.operands[part], -1);
      } else {
        const int64_t wanted = n.opcode == "get-tuple-element" ? n.tuple_index : n.opcode == "tuple" ? -1 : part;
        for (int32_t operand : n.operands) open.emplace_back(operand, wanted);
      }
    }
  }
  static double share_of(const Shape& shape, int64_t element) {
    const double all = static_cast<double>(shape.bytes());
    if (element < 0 || element >= static_cast<int64_t>(shape.tuple_shapes.size()) || all <= 0) return 1;
    return static_cast<double>(shape.tuple_shapes[element].bytes()) / all;
  }

  void mark_outputs(int32_t index, int64_t element) {
    std::vector<Source> sources;
    trace(index, element, sources);
    for (const Source& source : sources) out_.graph.ops[source.op].is_output = true;
  }

  const HloGraph& module_;
  const Computation& entry_;
  const GraphSources& sources_;
  Counter counter_;
  ProgramGraph out_;
  std::vector<int32_t> op_of_;  // [nodes of the module]; -1 for nodes that are not operations
  std::set<std::string> names_;
};

}  // namespace

ProgramGraph program_graph(const HloGraph& module, const GraphSources& sources) {
  return GraphBuilder(module, sources).build();
}

namespace {

// Calls `found` with the name of each instruction whose line contains `key`, and the position after the key.
template <class Found>
void for_each_mention(const std::string& hlo, std::string_view key, const Found& found) {
  for (size_t at = hlo.find(key); at != std::string::npos; at = hlo.find(key, at + 1)) {
    const size_t line = hlo.rfind('\n', at) + 1;
    const size_t equals = hlo.find(" = ", line);
    if (equals == std::string::npos || equals > at) continue;
    size_t name = equals;
    while (name > line && hlo[name - 1] != ' ' && hlo[name - 1] != '%') --name;
    found(hlo.substr(name, equals - name), at + key.size());
  }
}

}  // namespace

std::map<std::string, std::string> names_before_fusion(const std::string& hlo) {
  std::map<std::string, std::string> out;
  for_each_mention(hlo, "op_type=\"@", [&](const std::string& name, size_t after) {
    out[name] = hlo.substr(after, hlo.find('"', after) - after);
  });
  return out;
}

std::map<std::string, int64_t> known_trip_counts(const std::string& hlo) {
  std::map<std::string, int64_t> out;
  for_each_mention(hlo, "\"known_trip_count\":{\"n\":\"",
                   [&](const std::string& name, size_t after) { out[name] = std::atoll(hlo.c_str() + after); });
  return out;
}

}  // namespace hone::place
