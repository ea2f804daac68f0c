// Small programs as graphs, for tests of shardings.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/hlo_graph.h"

namespace hone::test {

class ShardGraph {
 public:
  ShardGraph() { graph_.computations.push_back({"main", 0, 0, 0}); }

  int32_t add(const std::string& name, const std::string& opcode, std::vector<int64_t> dims,
              std::vector<int32_t> operands = {}) {
    Node node;
    node.name = name;
    node.opcode = opcode;
    node.shape.element_type = 11;  // f32
    node.shape.dims = std::move(dims);
    node.operands = std::move(operands);
    graph_.nodes.push_back(node);
    const auto index = static_cast<int32_t>(graph_.nodes.size()) - 1;
    graph_.computations[0].root = index;
    graph_.computations[0].last = index + 1;
    return index;
  }
  int32_t parameter(const std::string& name, std::vector<int64_t> dims) {
    const int32_t index = add(name, "parameter", std::move(dims));
    graph_.nodes[index].parameter_number = parameters_++;
    return index;
  }
  // x [n, k] times w [k, m].
  int32_t dot(const std::string& name, int32_t x, int32_t w) {
    const int32_t index = add(name, "dot", {graph_.nodes[x].shape.dims[0], graph_.nodes[w].shape.dims[1]}, {x, w});
    graph_.nodes[index].dot.lhs_contracting = {1};
    graph_.nodes[index].dot.rhs_contracting = {0};
    return index;
  }
  Node& node(int32_t index) { return graph_.nodes[index]; }
  const HloGraph& graph() const { return graph_; }

 private:
  HloGraph graph_;
  int64_t parameters_ = 0;
};

// Two blocks y = x + tanh(x a) b with a [64, 256] and b [256, 64], a scale of each column, and x [32, 64]. Parameters 0 to 5: a and
// b of the first block, of the second, the scale, x.
inline ShardGraph two_blocks() {
  ShardGraph g;
  std::vector<int32_t> weights;
  for (int block = 0; block < 2; ++block) {
    weights.push_back(g.parameter("a" + std::to_string(block), {64, 256}));
    weights.push_back(g.parameter("b" + std::to_string(block), {256, 64}));
  }
  const int32_t scale = g.parameter("scale", {64});
  int32_t x = g.parameter("x", {32, 64});
  for (int block = 0; block < 2; ++block) {
    const std::string n = std::to_string(block);
    const int32_t h = g.dot("h" + n, x, weights[2 * block]);
    const int32_t t = g.add("t" + n, "tanh", {32, 256}, {h});
    const int32_t y = g.dot("y" + n, t, weights[2 * block + 1]);
    x = g.add("sum" + n, "add", {32, 64}, {x, y});
  }
  const int32_t wide = g.add("wide", "broadcast", {32, 64}, {scale});
  g.node(wide).dimensions = {1};
  g.add("out", "multiply", {32, 64}, {x, wide});
  return g;
}

}  // namespace hone::test
