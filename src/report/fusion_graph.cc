#include "report/fusion_graph.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include "report/graph_drawing.h"

namespace hone::report {

namespace {

constexpr double kCharWidth = 6.6, kBoxPadding = 24, kLeastBox = 78, kWidestBox = 230;  // pixels
constexpr double kPartGap = 70, kTitleHeight = 34;
constexpr int kTuple = 13;
constexpr int64_t kTinyCondition = 5;  // instructions; the condition of a counting loop

bool is_one_of(std::string_view opcode, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), opcode) != names.end();
}

bool is_input(const Node& node) { return is_one_of(node.opcode, {"parameter", "constant"}); }
// Gives a value another name and runs nothing.
bool is_alias(const Node& node) {
  return is_one_of(node.opcode, {"bitcast", "tuple", "get-tuple-element", "optimization-barrier"});
}
bool is_control(const Node& node) { return is_one_of(node.opcode, {"while", "conditional", "call"}); }

const char* type_name(int32_t type) {
  static constexpr std::array<const char*, 35> kNames = {
      "?",    "pred",   "s8",       "s16", "s32", "s64",           "u8",         "u16",        "u32",
      "u64",  "f16",    "f32",      "f64", "",    "opaque",        "c64",        "bf16",       "token",
      "c128", "f8e5m2", "f8e4m3fn", "s4",  "u4",  "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz", "s2",
      "u2",   "f8e4m3", "f8e3m4",   "s1",  "u1",  "f4e2m1fn",      "f8e8m0fnu",  "buffer"};
  return type >= 0 && type < static_cast<int32_t>(kNames.size()) ? kNames[type] : "?";
}

std::vector<std::pair<std::string, int>> opcodes_inside(const HloGraph& module, const Node& fusion) {
  std::map<std::string, int> counts;
  for (int32_t called : fusion.called)
    for (int32_t i = module.computations[called].first; i < module.computations[called].last; ++i)
      if (!is_input(module.nodes[i])) ++counts[module.nodes[i].opcode];
  std::vector<std::pair<std::string, int>> list(counts.begin(), counts.end());
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return list;
}

// One computation turned into boxes and edges.
class PartDrawer {
 public:
  PartDrawer(const HloGraph& module, const std::map<std::string, std::string>& kernels, DrawnGraph& graph)
      : module_(module), kernels_(kernels), graph_(graph) {}

  // Adds the part at the origin. Parts in which nothing runs are left out.
  void draw(int32_t computation, const std::string& title) {
    const Computation& c = module_.computations[computation];
    first_ = static_cast<int32_t>(graph_.nodes.size());
    index_.clear();
    std::vector<std::pair<int32_t, int32_t>> edges;
    for (int32_t i = c.first; i < c.last; ++i) {
      const Node& node = module_.nodes[i];
      if (is_input(node) || is_alias(node)) continue;
      const auto here = static_cast<int32_t>(index_.size());
      DrawnNode drawn = box(node);
      std::set<int32_t> sources;
      visited_.clear();
      for (int32_t operand : node.operands) collect(operand, -1, sources, drawn.inputs);
      for (int32_t source : sources) edges.emplace_back(source, here);
      index_[i] = here;
      graph_.nodes.push_back(std::move(drawn));
    }
    if (!index_.empty()) place(title, edges);
  }

 private:
  DrawnNode box(const Node& node) const {
    DrawnNode drawn;
    drawn.name = node.name;
    drawn.opcode =
        node.opcode == "custom-call" && !node.custom_call_target.empty() ? node.custom_call_target : node.opcode;
    if (const auto kernel = kernels_.find(node.name); kernel != kernels_.end()) drawn.kernel = kernel->second;
    drawn.shape = shape_text(node.shape);
    if (node.opcode == "fusion") drawn.inside = opcodes_inside(module_, node);
    const double text =
        kCharWidth * static_cast<double>(std::max(drawn.name.size(), std::min<size_t>(drawn.shape.size(), 24)));
    drawn.width = std::clamp(std::round(text + kBoxPadding), kLeastBox, kWidestBox);
    return drawn;
  }

  // The boxes that the value of node `i` (its tuple element `element`, -1 = all of it) comes from, and the inputs.
  void collect(int32_t i, int64_t element, std::set<int32_t>& sources, std::vector<std::string>& inputs) {
    if (!visited_.insert({i, element}).second) return;
    const Node& node = module_.nodes[i];
    if (const auto drawn = index_.find(i); drawn != index_.end()) {
      sources.insert(drawn->second);
    } else if (is_input(node)) {
      const std::string name =
          node.opcode == "parameter" && element >= 0 ? fmt::format("{}[{}]", node.name, element) : node.name;
      if (std::find(inputs.begin(), inputs.end(), name) == inputs.end()) inputs.push_back(name);
    } else if (node.opcode == "tuple" && element >= 0 && element < static_cast<int64_t>(node.operands.size())) {
      collect(node.operands[element], -1, sources, inputs);
    } else {
      const int64_t wanted = node.opcode == "get-tuple-element" ? node.tuple_index : element;
      for (int32_t operand : node.operands) collect(operand, wanted, sources, inputs);
    }
  }

  void place(const std::string& title, const std::vector<std::pair<int32_t, int32_t>>& edges) {
    std::vector<double> widths;
    for (size_t i = first_; i < graph_.nodes.size(); ++i) widths.push_back(graph_.nodes[i].width);
    Layout layout = lay_out(widths, edges, {.box_height = kBoxHeight});
    for (size_t i = 0; i < widths.size(); ++i) {
      graph_.nodes[first_ + i].x = layout.boxes[i].x;
      graph_.nodes[first_ + i].y = layout.boxes[i].y;
    }
    for (LayoutEdge& edge : layout.edges)
      graph_.edges.push_back({first_ + edge.from, first_ + edge.to, std::move(edge.via)});
    graph_.parts.push_back({title, 0, 0, layout.width, layout.height});
  }

  const HloGraph& module_;
  const std::map<std::string, std::string>& kernels_;
  DrawnGraph& graph_;
  std::set<std::pair<int32_t, int64_t>> visited_;  // by collect(), for one box
  int32_t first_ = 0;                              // of the part's nodes in graph_
  std::map<int32_t, int32_t> index_;               // node of the module -> box of the part
};

struct Called {
  int32_t computation;
  std::string title;
};

// The computations that a computation's control flow runs, in order.
void find_called(const HloGraph& module, int32_t computation, std::set<int32_t>& seen, std::vector<Called>& found) {
  const Computation& c = module.computations[computation];
  for (int32_t i = c.first; i < c.last; ++i) {
    const Node& node = module.nodes[i];
    if (!is_control(node)) continue;
    for (size_t place = 0; place < node.called.size(); ++place) {
      const int32_t called = node.called[place];
      const Computation& inner = module.computations[called];
      const bool condition = node.opcode == "while" && place == 1;  // XLA lists the body first
      if (!seen.insert(called).second || (condition && inner.last - inner.first <= kTinyCondition)) continue;
      const std::string role = node.opcode == "while"         ? (condition ? "condition of " : "body of ")
                               : node.opcode == "conditional" ? fmt::format("branch {} of ", place)
                                                              : "called by ";
      found.push_back({called, role + node.name});
      find_called(module, called, seen, found);
    }
  }
}

// Places the parts from left to right, in rows about as wide as the whole drawing is high.
void arrange(DrawnGraph& graph, const std::vector<std::pair<int32_t, int32_t>>& node_ranges,
             const std::vector<std::pair<int32_t, int32_t>>& edge_ranges) {
  double area = 0;
  for (const DrawnPart& part : graph.parts) area += (part.width + kPartGap) * (part.height + kPartGap);
  const double row_width = graph.parts.empty() ? 0 : std::max(graph.parts[0].width, 1.4 * std::sqrt(area));
  double x = 0, y = 0, row_height = 0;
  for (size_t p = 0; p < graph.parts.size(); ++p) {
    DrawnPart& part = graph.parts[p];
    if (x > 0 && x + part.width > row_width) {
      x = 0;
      y += row_height + kPartGap;
      row_height = 0;
    }
    part.x = x;
    part.y = y;
    for (int32_t n = node_ranges[p].first; n < node_ranges[p].second; ++n) {
      graph.nodes[n].x += x;
      graph.nodes[n].y += y + kTitleHeight;
    }
    for (int32_t e = edge_ranges[p].first; e < edge_ranges[p].second; ++e)
      for (auto& point : graph.edges[e].via) point = {point.first + x, point.second + y + kTitleHeight};
    part.height += kTitleHeight;
    graph.width = std::max(graph.width, x + part.width);
    graph.height = std::max(graph.height, y + part.height);
    row_height = std::max(row_height, part.height);
    x += part.width + kPartGap;
  }
}

}  // namespace

std::string shape_text(const Shape& shape) {
  std::string text;
  if (shape.element_type == kTuple) {
    for (const Shape& element : shape.tuple_shapes) text += (text.empty() ? "" : ", ") + shape_text(element);
    return "(" + text + ")";
  }
  for (int64_t dim : shape.dims) text += (text.empty() ? "" : ",") + std::to_string(dim);
  return std::string(type_name(shape.element_type)) + "[" + text + "]";
}

DrawnGraph draw_graph(const HloGraph& module, const std::map<std::string, std::string>& kernels) {
  DrawnGraph graph;
  graph.instructions = static_cast<int64_t>(module.nodes.size());
  std::set<int32_t> seen = {module.entry};
  std::vector<Called> computations = {{module.entry, "entry"}};
  find_called(module, module.entry, seen, computations);
  PartDrawer drawer(module, kernels, graph);
  std::vector<std::pair<int32_t, int32_t>> node_ranges, edge_ranges;
  for (const Called& called : computations) {
    const auto nodes = static_cast<int32_t>(graph.nodes.size()), edges = static_cast<int32_t>(graph.edges.size());
    const size_t parts = graph.parts.size();
    drawer.draw(called.computation, called.title);
    if (graph.parts.size() == parts) continue;
    node_ranges.emplace_back(nodes, static_cast<int32_t>(graph.nodes.size()));
    edge_ranges.emplace_back(edges, static_cast<int32_t>(graph.edges.size()));
  }
  arrange(graph, node_ranges, edge_ranges);
  for (const DrawnNode& node : graph.nodes) {
    if (node.opcode != "fusion") continue;
    ++graph.fusions;
    for (const auto& [opcode, count] : node.inside) graph.fused += count;
  }
  return graph;
}

}  // namespace hone::report
