// Inputs for programs that come without any: seeded values that keep numerics finite.
#pragma once
#include <vector>

#include "xla/hlo/ir/hlo_module.h"
#include "xla/literal.h"

namespace hone::xla_side {

// How a parameter, or an array of one that is a tuple, is used.
struct InputUse {
  int64_t index_bound = 0;  // > 0: an index below this
  bool positive = false;
  int64_t fan_in = 0;  // > 0: a weight contracted over this many values
};
InputUse input_use(const xla::HloInstruction* parameter, const xla::ShapeIndex& index);

// One literal per entry parameter (tuples included), descending layouts. The uses of a parameter determine its
// values: indices stay in range, arguments of log, sqrt and divisors are positive, matrix weights are scaled by their
// fan-in, predicates are random, other integers small. Throws RunError above `limit_bytes`.
std::vector<xla::Literal> generate_inputs(const xla::HloModule& program, uint64_t seed, int64_t limit_bytes);

}  // namespace hone::xla_side
