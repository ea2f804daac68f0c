// Programs of half-precision numbers, judged by themselves in f32. Their outputs may differ by far more than a unit in the last
// place for another order of sums, since each layer rounds and the next ones enlarge the difference; then the question is
// whether a candidate is as near as default XLA to what the program would compute without rounding.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "xla/hlo/ir/hlo_module.h"
#include "xla/literal.h"

namespace hone::xla_side {

// The program with f32 in place of bf16 and f16. Null where it has neither, or cannot be written so.
std::unique_ptr<xla::HloModule> widened(const xla::HloModule& program);
// The program with f64 in place of all narrower floats. Null where it cannot be written so.
std::unique_ptr<xla::HloModule> in_double(const xla::HloModule& program);
// Inputs of the program for the widened one; nullopt where one is a tuple.
std::optional<std::vector<xla::Literal>> widened(const std::vector<xla::Literal>& inputs);

// How far the candidate's outputs are from the widened program's, in multiples of what is allowed; at most 1 where it is as
// near as default XLA: by root mean square at most 1.1 times as far, by the largest difference at most 1.5 times. Outputs that
// are no floats must be equal. Infinite where default XLA itself is more than a quarter of the values off, which then say
// nothing, and where a value is finite in one and not in the other.
double distance_from_wide(const std::vector<xla::Literal>& wide, const std::vector<xla::Literal>& by_default,
                          const std::vector<xla::Literal>& candidate);

}  // namespace hone::xla_side
