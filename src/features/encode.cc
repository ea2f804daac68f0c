#include "features/encode.h"

#include <algorithm>

#include "base/error.h"
#include "features/columns.h"
#include "features/node_features.h"
#include "features/opcodes.h"

namespace hone::features {
namespace {

std::vector<int32_t> sorted_once(std::vector<int32_t> list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

// The computation of a kernel module that is encoded.
int32_t kernel_computation(const HloGraph& module) {
  const Node& root = module.nodes[module.computations[module.entry].root];
  if (root.opcode != "fusion") return module.entry;
  if (root.called.empty()) throw Error("the fusion has no computation", root.name);
  return root.called[0];
}

}  // namespace

const std::vector<Column>& static_columns() {
  static const std::vector<Column> columns = {
#define STATIC(name, scale, value) {#name, Scale::scale},
#include "features/static_features.def"
#undef STATIC
  };
  return columns;
}

int static_feature_count() { return static_cast<int>(static_columns().size()); }

EncodedKernel encode_kernel(const HloGraph& module, const KernelCosts& c) {
  const Computation& computation = module.computations[kernel_computation(module)];
  const NodeSurroundings around = surroundings(module);
  const size_t width = node_feature_count(), nodes = computation.last - computation.first;
  EncodedKernel out;
  out.opcodes.reserve(nodes);
  out.node_features.resize(nodes * width);
  for (int32_t i = computation.first; i < computation.last; ++i) {
    const Node& n = module.nodes[i];
    const size_t row = i - computation.first;
    out.opcodes.push_back(opcode_number(n.opcode));
    write_node_features(module, around, i, {out.node_features.data() + row * width, width});
    for (int32_t operand : sorted_once(n.operands)) {
      out.edge_from.push_back(operand - computation.first);
      out.edge_to.push_back(static_cast<int32_t>(row));
    }
  }
  out.static_features = {
#define STATIC(name, scale, value) static_cast<float>(value),
#include "features/static_features.def"
#undef STATIC
  };
  return out;
}

Shape kernel_output(const HloGraph& module) {
  const Shape* shape = &module.nodes[module.computations[module.entry].root].shape;
  while (!shape->tuple_shapes.empty()) shape = &shape->tuple_shapes[0];
  return *shape;
}

EncodedGraph encode_graph(const HloGraph& module, int width) {
  const NodeSurroundings around = surroundings(module);
  const size_t w = width;
  EncodedGraph out;
  out.width = width;
  out.opcodes.reserve(module.nodes.size());
  out.node_features.resize(module.nodes.size() * w);
  for (int32_t i = 0; i < static_cast<int32_t>(module.nodes.size()); ++i) {
    const Node& n = module.nodes[i];
    out.opcodes.push_back(opcode_number(n.opcode));
    write_node_features(module, around, i, {out.node_features.data() + i * w, w});
    std::vector<int32_t> targets = n.operands;
    for (int32_t called : n.called) targets.push_back(module.computations[called].root);
    for (int32_t target : sorted_once(std::move(targets))) out.edge_index.insert(out.edge_index.end(), {i, target});
  }
  out.node_splits = {0};
  for (const Computation& computation : module.computations)
    for (const char* major : {"cluster", "while", "cond"})
      if (computation.name.find(major) != std::string::npos) {
        out.node_splits.push_back(computation.last);
        break;
      }
  const auto nodes = static_cast<int64_t>(module.nodes.size());
  if (out.node_splits.back() < nodes) out.node_splits.push_back(nodes);
  return out;
}

}  // namespace hone::features
