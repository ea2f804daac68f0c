// How exact a convolution or a dot is: some of its results against sums in f64.
#pragma once

#include <optional>
#include <vector>

#include "xla/hlo/ir/hlo_module.h"
#include "xla/literal.h"

namespace hone::xla_side {

// For a program of one convolution or dot (operation_alone()): the largest difference of `outputs`
// from sums in f64 over about a thousand results spread evenly, divided by the largest of these. nullopt for other programs.
std::optional<double> error_against_f64(const xla::HloModule& operation, const std::vector<xla::Literal>& inputs,
                                        const xla::Literal& output);

}  // namespace hone::xla_side
