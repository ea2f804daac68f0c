// Inputs for programs that come without any: seeded values that keep numerics finite.
#pragma once
#include <vector>

#include "xla/hlo/ir/hlo_module.h"
#include "xla/literal.h"

namespace hone::xla_side {

// One literal per entry parameter (tuples included), descending layouts. The uses of a parameter determine its
// values: indices stay in range, arguments of log, sqrt and divisors are positive, matrix weights are scaled by their
// fan-in, predicates are random, other integers small. Throws RunError above `limit_bytes`.
std::vector<xla::Literal> generate_inputs(const xla::HloModule& program, uint64_t seed, int64_t limit_bytes);

}  // namespace hone::xla_side
