#include "features/node_features.h"

#include <algorithm>
#include <string>
#include <utility>

#include "features/columns.h"
#include "features/encoded.h"

namespace hone::features {
namespace {

using Numbers = std::vector<int64_t>;

// One field of a list of structures.
template <class T, class Field>
Numbers each(const std::vector<T>& list, Field T::* field) {
  Numbers out;
  out.reserve(list.size());
  for (const T& item : list) out.push_back(item.*field);
  return out;
}

double element_bytes(const Shape& shape) { return static_cast<double>(Shape{shape.element_type, {}, {}, {}}.bytes()); }

// XLA writes group counts, 1 included, for these opcodes only; TpuGraphs has 0 for all others.
bool has_groups(const Node& n) { return n.has_convolution || n.opcode == "custom-call"; }

// Sizes of `shape` along `axes`; axes it does not have are left out.
Numbers sizes_along(const Shape& shape, const Numbers& axes) {
  Numbers out;
  for (int64_t axis : axes)
    if (axis >= 0 && axis < static_cast<int64_t>(shape.dims.size())) out.push_back(shape.dims[axis]);
  return out;
}

double product(const Numbers& numbers) {
  double out = 1;
  for (int64_t number : numbers) out *= static_cast<double>(number);
  return out;
}

// Elements between neighbours along each logical dimension; empty without a layout.
Numbers strides_of(const Shape& shape) {
  if (shape.minor_to_major.size() != shape.dims.size()) return {};
  Numbers out(shape.dims.size(), 0);
  double stride = 1;
  for (int64_t axis : shape.minor_to_major) {
    if (axis < 0 || axis >= static_cast<int64_t>(out.size())) return {};
    out[axis] = static_cast<int64_t>(std::min(stride, 9e18));
    stride *= static_cast<double>(shape.dims[axis]);
  }
  return out;
}

struct NodeContext {
  int64_t users = 0;
  bool is_output = false, is_fused = false;
  Numbers strides;
  double contracted = 0;        // 0 unless it is a dot
  Numbers reduced;              // dimensions of the operand that a reduce sums over
  double reduced_elements = 0;  // 0 unless it is a reduce
  bool reduces_minor = false;
};

NodeContext context_of(const HloGraph& graph, const NodeSurroundings& around, int32_t index) {
  const Node& n = graph.nodes[index];
  NodeContext c;
  c.users = around.users[index];
  c.is_output = around.is_output[index];
  c.is_fused = around.is_fused[n.computation];
  c.strides = strides_of(n.shape);
  if (n.operands.empty()) return c;
  const Shape& operand = graph.nodes[n.operands[0]].shape;
  if (n.opcode == "dot") c.contracted = product(sizes_along(operand, n.dot.lhs_contracting));
  if (n.opcode == "reduce") {
    c.reduced = n.dimensions;
    c.reduced_elements = product(sizes_along(operand, n.dimensions));
    const Numbers& layout = operand.minor_to_major;
    const int64_t minor = layout.empty() ? static_cast<int64_t>(operand.dims.size()) - 1 : layout[0];
    c.reduces_minor = std::count(n.dimensions.begin(), n.dimensions.end(), minor) > 0;
  }
  return c;
}

// Fills a row from the left and ignores values that do not fit.
class Row {
 public:
  explicit Row(std::span<float> out) : out_(out) {}
  bool full() const { return at_ >= out_.size(); }
  void number(double value) {
    if (!full()) out_[at_++] = static_cast<float>(value);
  }
  void axes(const Numbers& values, size_t width, double pad) {
    for (size_t i = 0; i < width; ++i) number(i < values.size() ? static_cast<double>(values[i]) : pad);
  }
  void list(const Numbers& values, size_t width) {
    axes(values, width, 0);
    int64_t sum = 0;
    // 64 bits of mantissa: equal to 64-bit integers where those do not overflow.
    long double product = 1;
    for (int64_t value : values) {
      sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(value));
      product *= static_cast<long double>(value);
    }
    number(static_cast<float>(sum));
    number(static_cast<float>(product));
  }
  void flags(const Numbers& values, size_t width) {
    axes(values, width, 0);
    const auto set = std::count_if(values.begin(), values.end(), [](int64_t v) { return v != 0; });
    number(static_cast<double>(set));
    number(static_cast<double>(values.size()) - static_cast<double>(set));
  }

 private:
  std::span<float> out_;
  size_t at_ = 0;
};

void add_columns(std::vector<Column>& out, const std::string& name, int width, Scale scale) {
  for (int i = 0; i < width; ++i) out.push_back({name + "_" + std::to_string(i), scale});
}

}  // namespace

const std::vector<Column>& node_columns() {
  static const std::vector<Column> columns = [] {
    std::vector<Column> out;
#define NUMBER(name, scale, value) out.push_back({#name, Scale::scale});
#define TYPE(name, number) out.push_back({#name, Scale::Linear});
#define AXES(name, width, pad, scale, ...) add_columns(out, #name, width, Scale::scale);
#define LIST(name, width, scale, ...)           \
  add_columns(out, #name, width, Scale::scale); \
  out.push_back({#name "_sum", Scale::scale});  \
  out.push_back({#name "_product", Scale::Log});
#define FLAGS(name, width, ...)                        \
  add_columns(out, #name, width, Scale::Linear);       \
  out.push_back({#name "_true_count", Scale::Linear}); \
  out.push_back({#name "_false_count", Scale::Linear});
#include "features/node_features.def"
#undef NUMBER
#undef TYPE
#undef AXES
#undef LIST
#undef FLAGS
    return out;
  }();
  return columns;
}

int node_feature_count() { return static_cast<int>(node_columns().size()); }

NodeSurroundings surroundings(const HloGraph& graph) {
  NodeSurroundings around;
  around.users.assign(graph.nodes.size(), 0);
  around.is_output.assign(graph.nodes.size(), 0);
  around.is_fused.assign(graph.computations.size(), 0);
  std::vector<int32_t> last_user(graph.nodes.size(), -1);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& n = graph.nodes[i];
    for (int32_t operand : n.operands)
      if (std::exchange(last_user[operand], static_cast<int32_t>(i)) != static_cast<int32_t>(i))
        ++around.users[operand];
    if (n.opcode == "fusion")
      for (int32_t called : n.called) around.is_fused[called] = 1;
    if (!n.is_root) continue;
    around.is_output[i] = 1;
    if (n.opcode == "tuple")
      for (int32_t operand : n.operands) around.is_output[operand] = 1;
  }
  return around;
}

void write_node_features(const HloGraph& graph, const NodeSurroundings& around, int32_t node, std::span<float> out) {
  const Node& n = graph.nodes[node];
  const NodeContext c = context_of(graph, around, node);
  Row row(out);
#define NUMBER(name, scale, value) row.number(static_cast<double>(value));
#define TYPE(name, type) row.number(n.shape.element_type == type);
#define AXES(name, width, pad, scale, ...) row.axes(__VA_ARGS__, width, pad);
#define LIST(name, width, scale, ...) row.list(__VA_ARGS__, width);
#define FLAGS(name, width, ...) row.flags(__VA_ARGS__, width);
#include "features/node_features.def"
#undef NUMBER
#undef TYPE
#undef AXES
#undef LIST
#undef FLAGS
}

}  // namespace hone::features
