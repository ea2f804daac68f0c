// Encoded kernels without XLA.
#pragma once

#include <string>
#include <vector>

#include "data/kernel_view.h"
#include "features/encode.h"

namespace hone::cost {

inline Shape f32(std::vector<int64_t> dims, std::vector<int64_t> layout = {}) {
  Shape shape{11, dims, layout, {}};
  if (layout.empty())
    for (size_t i = dims.size(); i-- > 0;) shape.minor_to_major.push_back(static_cast<int64_t>(i));
  return shape;
}

inline Node node(const std::string& opcode, Shape shape, std::vector<int32_t> operands = {},
                 std::vector<int64_t> dimensions = {}) {
  Node n;
  n.name = n.opcode = opcode;
  n.shape = std::move(shape);
  n.operands = std::move(operands);
  n.dimensions = std::move(dimensions);
  return n;
}

// A kernel and its options, with the arrays of its KernelView.
struct TestKernel {
  features::EncodedKernel encoded;
  std::vector<float> tiles;
  std::vector<double> runtime_ns;
  KernelView view() const {
    KernelView v;
    v.fingerprint = "test";
    v.kind = "fusion";
    v.opcodes = encoded.opcodes;
    v.node_features = encoded.node_features;
    v.static_features = encoded.static_features;
    v.edge_from = encoded.edge_from;
    v.edge_to = encoded.edge_to;
    v.tiles = tiles;
    v.runtime_ns = runtime_ns;
    return v;
  }
};

inline TestKernel kernel_of(std::vector<Node> nodes, const std::vector<std::string>& options,
                            features::KernelCosts costs = {}) {
  HloGraph module;
  nodes.back().is_root = true;
  module.nodes = std::move(nodes);
  const auto count = static_cast<int32_t>(module.nodes.size());
  module.computations = {{"main", 0, count, count - 1}};
  TestKernel kernel;
  kernel.encoded = features::encode_kernel(module, costs);
  for (const std::string& option : options) {
    const auto tile = features::encode_option(features::kernel_output(module), option, option == options[0], "");
    kernel.tiles.insert(kernel.tiles.end(), tile.begin(), tile.end());
    kernel.runtime_ns.push_back(1000);
  }
  return kernel;
}

}  // namespace hone::cost
