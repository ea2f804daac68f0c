#include "graph/hlo_reader.h"

#include <algorithm>
#include <protozero/pbf_reader.hpp>
#include <unordered_map>

#include "base/error.h"

namespace hone {
namespace {

using protozero::pbf_wire_type;
using Reader = protozero::pbf_reader;

constexpr int kMaxTupleDepth = 64;  // deeper nesting occurs only in malicious input

// A field number with its wire type. A field of another type than XLA's falls through to skip(), as in protobuf.
constexpr uint32_t number(uint32_t field) { return protozero::tag_and_type(field, pbf_wire_type::varint); }
constexpr uint32_t block(uint32_t field) { return protozero::tag_and_type(field, pbf_wire_type::length_delimited); }

std::string text(Reader& in) { return in.get_string(); }

// Repeated numbers are packed (proto3) or written one by one.
void append(Reader& in, std::vector<int64_t>& out) {
  if (in.wire_type() == pbf_wire_type::varint) {
    out.push_back(in.get_int64());
    return;
  }
  for (int64_t value : in.get_packed_int64()) out.push_back(value);
}

// clang-format off: one field per line
// Field numbers: xla/xla_data.proto.
Shape read_shape(Reader in, int depth = 0) {
  if (depth > kMaxTupleDepth) throw Error("a tuple is nested too deeply");
  Shape shape;
  while (in.next()) switch (in.tag_and_type()) {
      case number(2): shape.element_type = in.get_enum(); break;
      case number(3): case block(3): append(in, shape.dims); break;
      case block(4): shape.tuple_shapes.push_back(read_shape(in.get_message(), depth + 1)); break;
      case block(5): {
        Reader layout = in.get_message();
        while (layout.next()) switch (layout.tag_and_type()) {
            case number(1): case block(1): append(layout, shape.minor_to_major); break;
            default: layout.skip();
          }
        break;
      }
      default: in.skip();
    }
  for (int64_t dim : shape.dims)
    if (dim < 0) throw Error("a dimension is negative or unbounded");
  return shape;
}

WindowDimension read_window_dimension(Reader in) {
  WindowDimension d{.size = 0, .stride = 0, .window_dilation = 0, .base_dilation = 0};
  while (in.next()) switch (in.tag_and_type()) {
      case number(1): d.size = in.get_int64(); break;
      case number(2): d.stride = in.get_int64(); break;
      case number(3): d.padding_low = in.get_int64(); break;
      case number(4): d.padding_high = in.get_int64(); break;
      case number(5): d.window_dilation = in.get_int64(); break;
      case number(6): d.base_dilation = in.get_int64(); break;
      case number(7): d.reversal = in.get_bool(); break;
      default: in.skip();
    }
  return d;
}

PaddingDimension read_padding_dimension(Reader in) {
  PaddingDimension d;
  while (in.next()) switch (in.tag_and_type()) {
      case number(1): d.low = in.get_int64(); break;
      case number(2): d.high = in.get_int64(); break;
      case number(3): d.interior = in.get_int64(); break;
      default: in.skip();
    }
  return d;
}

SliceDimension read_slice_dimension(Reader in) {
  SliceDimension d{.stride = 0};
  while (in.next()) switch (in.tag_and_type()) {
      case number(1): d.start = in.get_int64(); break;
      case number(2): d.limit = in.get_int64(); break;
      case number(3): d.stride = in.get_int64(); break;
      default: in.skip();
    }
  return d;
}

ConvolutionNumbers read_convolution(Reader in) {
  ConvolutionNumbers c;
  while (in.next()) switch (in.tag_and_type()) {
      case number(3): c.kernel_input_feature = in.get_int64(); break;
      case number(4): c.kernel_output_feature = in.get_int64(); break;
      case number(6): case block(6): append(in, c.kernel_spatial); break;
      case number(7): c.input_batch = in.get_int64(); break;
      case number(8): c.input_feature = in.get_int64(); break;
      case number(9): c.output_batch = in.get_int64(); break;
      case number(10): c.output_feature = in.get_int64(); break;
      case number(11): case block(11): append(in, c.input_spatial); break;
      case number(12): case block(12): append(in, c.output_spatial); break;
      default: in.skip();
    }
  return c;
}

DotNumbers read_dot(Reader in) {
  DotNumbers d;
  while (in.next()) switch (in.tag_and_type()) {
      case number(1): case block(1): append(in, d.lhs_contracting); break;
      case number(2): case block(2): append(in, d.rhs_contracting); break;
      case number(3): case block(3): append(in, d.lhs_batch); break;
      case number(4): case block(4): append(in, d.rhs_batch); break;
      default: in.skip();
    }
  return d;
}

// Scatter has the same fields as gather, under other names.
void read_gather(Reader in, GatherNumbers& g) {
  while (in.next()) switch (in.tag_and_type()) {
      case number(1): case block(1): append(in, g.offset_dims); break;
      case number(2): case block(2): append(in, g.collapsed_slice_dims); break;
      case number(3): case block(3): append(in, g.start_index_map); break;
      case number(4): g.index_vector_dim = in.get_int64(); break;
      default: in.skip();
    }
}

// The repeated field 1 of xla.Window and xla.PaddingConfig.
template <class T, class Read>
void append_dimensions(Reader in, std::vector<T>& out, Read read) {
  while (in.next()) switch (in.tag_and_type()) {
      case block(1): out.push_back(read(in.get_message())); break;
      default: in.skip();
    }
}

// Attributes of particular opcodes.
void read_attribute(Reader& in, Node& n) {
  switch (in.tag_and_type()) {
    case number(9): n.parameter_number = in.get_int64(); break;
    case block(11): n.fusion_kind = text(in); break;
    case number(13): n.tuple_index = in.get_int64(); break;
    case number(14): case block(14): append(in, n.dimensions); break;
    case block(15): append_dimensions(in.get_message(), n.window, read_window_dimension); break;
    case block(16): n.convolution = read_convolution(in.get_message()); n.has_convolution = true; break;
    case block(17): n.slice.push_back(read_slice_dimension(in.get_message())); break;
    case number(20): case block(20): append(in, n.dynamic_slice_sizes); break;
    case block(21): append_dimensions(in.get_message(), n.padding, read_padding_dimension); break;
    case block(28): n.custom_call_target = text(in); break;
    case block(30): n.dot = read_dot(in.get_message()); break;
    case block(33): case block(48): read_gather(in.get_message(), n.gather); break;
    case number(34): case block(34): append(in, n.gather.slice_sizes); break;
    case number(50): n.feature_group_count = in.get_int64(); break;
    case number(58): n.batch_group_count = in.get_int64(); break;
    case number(60): n.is_stable = in.get_bool(); break;
    case block(63): n.comparison = text(in); break;
    case number(67): n.indices_are_sorted = in.get_bool(); break;
    case number(69): n.unique_indices = in.get_bool(); break;
    default: in.skip();
  }
}

// clang-format on

// An instruction before its ids are looked up.
struct RawNode {
  Node node;
  int64_t id = 0;
  std::vector<int64_t> operands, control, called;
};

RawNode read_instruction(Reader in) {
  // clang-format off
  RawNode raw;
  while (in.next()) switch (in.tag_and_type()) {
      case block(1): raw.node.name = text(in); break;
      case block(2): raw.node.opcode = text(in); break;
      case block(3): raw.node.shape = read_shape(in.get_message()); break;
      case number(35): raw.id = in.get_int64(); break;
      case number(36): case block(36): append(in, raw.operands); break;
      case number(37): case block(37): append(in, raw.control); break;
      case number(38): case block(38): append(in, raw.called); break;
      default: read_attribute(in, raw.node);
    }
  // clang-format on
  // proto3 omits zeros.
  if (raw.node.opcode == "parameter") raw.node.parameter_number = std::max<int64_t>(raw.node.parameter_number, 0);
  if (raw.node.opcode == "get-tuple-element") raw.node.tuple_index = std::max<int64_t>(raw.node.tuple_index, 0);
  return raw;
}

using Index = std::unordered_map<int64_t, int32_t>;

// Instruction ids are local to a computation; newer XLA carries the computation's id in the upper 32 bits, and not all
// writers do so in every field.
int32_t look_up(const Index& index, int64_t id, const char* what) {
  auto it = index.find(id);
  if (it == index.end()) it = index.find(id & 0xffffffff);
  if (it == index.end()) throw Error(std::string(what) + " id " + std::to_string(id) + " does not exist");
  return it->second;
}

class ModuleReader {
 public:
  HloGraph read(std::string_view bytes) {
    try {
      read_module(Reader(bytes.data(), bytes.size()));
      link_calls();
      check_calls();
    } catch (const protozero::exception& e) {
      throw Error(std::string("the bytes are not an HLO module: ") + e.what(), where_, kHint);
    } catch (const Error& e) {
      throw Error(std::string("the HLO module is broken: ") + e.what(), where_, kHint);
    }
    return std::move(graph_);
  }

 private:
  static constexpr char kHint[] = "give a serialised xla.HloModuleProto";

  void read_module(Reader in) {
    where_ = "module";
    int64_t entry_id = 0;
    std::string entry_name;
    // clang-format off
    while (in.next()) switch (in.tag_and_type()) {
        case block(1): graph_.name = text(in); break;
        case block(2): entry_name = text(in); break;
        case block(3): read_computation(in.get_message()); break;
        case number(6): entry_id = in.get_int64(); break;
        default: in.skip();
      }
    // clang-format on
    where_ = "module " + graph_.name;
    if (graph_.nodes.empty()) throw Error("it has no instructions");
    graph_.entry = entry_of(entry_id, entry_name);
  }

  int32_t entry_of(int64_t id, const std::string& name) const {
    if (const auto it = computations_.find(id); it != computations_.end()) return it->second;
    for (size_t i = 0; i < graph_.computations.size(); ++i)
      if (graph_.computations[i].name == name) return static_cast<int32_t>(i);
    throw Error("its entry computation is missing");
  }

  void read_computation(Reader in) {
    const auto number_in_module = static_cast<int32_t>(graph_.computations.size());
    where_ = "computation " + std::to_string(number_in_module);
    Computation c;
    c.first = static_cast<int32_t>(graph_.nodes.size());
    int64_t id = 0, root_id = 0;
    Index index;
    // clang-format off
    while (in.next()) switch (in.tag_and_type()) {
        case block(1): c.name = text(in); where_ = "computation " + c.name; break;
        case block(2): add_instruction(in.get_message(), number_in_module, index); break;
        case number(5): id = in.get_int64(); break;
        case number(6): root_id = in.get_int64(); break;
        default: in.skip();
      }
    // clang-format on
    where_ = "computation " + c.name;
    c.last = static_cast<int32_t>(graph_.nodes.size());
    if (c.first == c.last) throw Error("it has no instructions");
    c.root = look_up(index, root_id, "root");
    graph_.nodes[c.root].is_root = true;
    // Control predecessors may come after their successors.
    for (size_t i = 0; i < control_.size(); ++i)
      for (int64_t from : control_[i])
        graph_.nodes[c.first + i].control_predecessors.push_back(look_up(index, from, "control predecessor"));
    control_.clear();
    if (!computations_.emplace(id, number_in_module).second) throw Error("its id is taken");
    graph_.computations.push_back(std::move(c));
  }

  void add_instruction(Reader in, int32_t computation, Index& index) {
    const std::string outer = where_;
    where_ = outer + ", instruction " + std::to_string(index.size());
    RawNode raw = read_instruction(in);
    where_ = outer + ", instruction " + raw.node.name;
    raw.node.computation = computation;
    for (int64_t id : raw.operands) raw.node.operands.push_back(look_up(index, id, "operand"));
    if (!index.emplace(raw.id, static_cast<int32_t>(graph_.nodes.size())).second) throw Error("its id is taken");
    graph_.nodes.push_back(std::move(raw.node));
    control_.push_back(std::move(raw.control));
    called_.push_back(std::move(raw.called));
    where_ = outer;
  }

  void link_calls() {
    for (size_t i = 0; i < called_.size(); ++i) {
      where_ = "instruction " + graph_.nodes[i].name;
      for (int64_t id : called_[i]) {
        const auto it = computations_.find(id);
        if (it == computations_.end()) throw Error("called computation id " + std::to_string(id) + " does not exist");
        graph_.nodes[i].called.push_back(it->second);
      }
    }
  }

  // Whoever follows calls may do so by recursion.
  void check_calls() {
    constexpr int kDeepestCalls = 200, kNew = -1, kOpen = -2;
    struct Visit {
      int32_t computation;
      size_t next = 0;  // of its calls
    };
    std::vector<std::vector<int32_t>> calls(graph_.computations.size());
    for (const Node& node : graph_.nodes)
      calls[node.computation].insert(calls[node.computation].end(), node.called.begin(), node.called.end());
    std::vector<int> depth(calls.size(), kNew);  // of what a computation calls
    for (size_t start = 0; start < calls.size(); ++start) {
      if (depth[start] != kNew) continue;
      std::vector<Visit> path = {{static_cast<int32_t>(start)}};
      while (!path.empty()) {
        auto& [at, next] = path.back();
        where_ = "computation " + graph_.computations[at].name;
        depth[at] = kOpen;
        while (next < calls[at].size() && depth[calls[at][next]] >= 0) ++next;
        if (next < calls[at].size()) {
          if (depth[calls[at][next]] == kOpen) throw Error("it calls itself");
          path.push_back({calls[at][next]});
          continue;
        }
        int deepest = 0;
        for (const int32_t called : calls[at]) deepest = std::max(deepest, depth[called] + 1);
        if (deepest > kDeepestCalls) throw Error("its calls nest too deeply");
        depth[at] = deepest;
        path.pop_back();
      }
    }
  }

  HloGraph graph_;
  Index computations_;
  std::vector<std::vector<int64_t>> control_;  // of the computation being read
  std::vector<std::vector<int64_t>> called_;   // of all nodes
  std::string where_;
};

}  // namespace

HloGraph read_hlo_graph(std::string_view module_proto_bytes) { return ModuleReader().read(module_proto_bytes); }

}  // namespace hone
