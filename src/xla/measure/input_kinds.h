// Inputs of the kinds that graph/input_kind.h lists, made of a program's ordinary ones.
#pragma once
#include <optional>
#include <vector>

#include "graph/input_kind.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/literal.h"

namespace hone::xla_side {

// Deterministic in its arguments. Nothing where the kind changes none of them. Integers that are single numbers stay as they are, but
// for indices: they may count the steps of loops.
std::optional<std::vector<xla::Literal>> inputs_of_kind(const xla::HloModule& program,
                                                        const std::vector<xla::Literal>& ordinary, InputKind kind,
                                                        uint64_t seed);

}  // namespace hone::xla_side
