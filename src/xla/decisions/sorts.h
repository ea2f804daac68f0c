// Sorts by the vectorised quicksort of Highway, where XLA calls a comparator for each pair.
#pragma once

#include <string>

#include "xla/hlo/ir/hlo_instruction.h"

namespace hone::xla_side {

inline constexpr char kHighway[] = "highway";

// Whether a sort compares one array of keys of at most 32 bits, and the library is there.
bool is_plain_sort(const xla::HloInstruction& op);

// What sorts with equal keys share: shapes, dimension, and how keys compare.
std::string sort_key(const xla::HloInstruction& op);

// The same result as a custom call; equal keys keep their order. Throws Error where is_plain_sort is false.
xla::HloInstruction* highway_sorted(xla::HloInstruction* op);

}  // namespace hone::xla_side
