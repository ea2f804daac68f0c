// Programs as vectors, by a policy's graph network without torch: as ObservationNetwork::encode of learn/agents/networks.h, with
// the layers of learn/nets/sage.cc.
#pragma once

#include <vector>

#include "base/dense.h"
#include "options/agent_options.h"
#include "options/safetensors.h"
#include "passorder/environment.h"
#include "passorder/input_scale.h"

namespace hone::passorder {

class GraphEncoder {
 public:
  // Throws Error if tensors are missing or do not fit.
  GraphEncoder(const options::TensorFile& file, const options::AgentOptions& options, int64_t node_width);
  int64_t width() const { return 2 * hidden_ + 1; }
  // [width()]: mean and maximum over the nodes, and the logarithm of their number. Throws Error for edges to nodes that are not
  // there and InternalError for features of another width.
  std::vector<float> encode(const GraphObservation& graph) const;

 private:
  struct Layer {
    dense::Linear first, second;
  };
  // Compressed rows.
  struct Lists {
    std::vector<int32_t> begin, node;
  };
  Lists lists_of(const std::vector<int32_t>& of, const std::vector<int32_t>& neighbour, int64_t nodes) const;
  void add_layer(const Layer& layer, const Lists& producers, const Lists& users, dense::Matrix& x) const;

  int64_t hidden_, node_width_, cap_;
  InputScale scale_;
  dense::Matrix opcodes_;  // [opcodes, hidden]
  dense::Linear node_input_;
  std::vector<Layer> layers_;
};

}  // namespace hone::passorder
