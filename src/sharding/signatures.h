// Which values of a program are alike: by what is computed from them, and by shape.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/hlo_graph.h"

namespace hone::sharding {

// [nodes]: equal for nodes of the entry computation with equal shapes whose users, their users and so on for a few steps are the
// same operations on equal shapes (colour refinement after Weisfeiler and Leman); 0 for other nodes.
std::vector<uint64_t> forward_signatures(const HloGraph& graph);

// [nodes]: a representative of the nodes that elementwise operations of the entry computation connect with arrays of the same
// shape: a weight, its gradient and the state that an optimiser keeps of it. `Reshapes::Ones`: reshapes that add or drop dimensions of
// one element connect, too, as a scale of channels and the variance it is divided by.
enum class Reshapes { None, Ones };
std::vector<int32_t> same_shape_classes(const HloGraph& graph, Reshapes reshapes = Reshapes::None);

}  // namespace hone::sharding
