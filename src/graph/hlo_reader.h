// Reads XLA's serialised modules (xla/service/hlo.proto) into plain data, without XLA and without libprotobuf.
#pragma once

#include <string_view>

#include "graph/hlo_graph.h"

namespace hone {

// The graph of a serialised xla.HloModuleProto. Nodes are in the order of the proto: computations as the module lists
// them, instructions as each computation lists them, so called computations precede their callers. Fields unknown to
// HloGraph are skipped. Throws Error, with the computation and instruction at fault where it is known, for bytes that are
// not such a message, for ids that do not exist, operands after their users, negative dimensions, and modules without
// instructions, and for computations that call themselves or nest calls more than 200 deep.
HloGraph read_hlo_graph(std::string_view module_proto_bytes);

}  // namespace hone
