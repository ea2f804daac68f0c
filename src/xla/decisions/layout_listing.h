// The layouts of a program that can be decided.
#pragma once

#include "decisions/compile_target.h"
#include "decisions/layouts.h"
#include "graph/decision.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

// Dots, convolutions, reshapes and transposes of at least two axes, then reductions, broadcasts, concatenations and gathers of at least
// 4 KiB, each with the layouts of its result and operands that XLA:CPU compiles. Throws Error when the seam is off, and whatever lower() throws.
LayoutListing layout_listing(const xla::HloModule& program, const CompileTarget& target, const Decisions& under = {});

}  // namespace hone::xla_side
