// How far outputs of lower precision are from exact ones.
#pragma once

#include "xla/literal.h"

namespace hone::xla_side {

struct OutputError {
  double largest = 0, mean = 0;  // of the differences, in multiples of the exact values' root mean square
  double same_argmax = -1;  // share of rows (the last dimension) whose largest value is at the same place; -1: no rows
};

// Both of the same sizes; elements that are not finite in the exact output are left out. Integers and predicates count as
// numbers, without rows.
OutputError output_error(const xla::Literal& exact, const xla::Literal& found);

}  // namespace hone::xla_side
