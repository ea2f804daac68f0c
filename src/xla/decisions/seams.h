// Seams: exported functions of the wheel through which XLA:CPU decides and which the worker redefines, so that calls
// inside XLA reach ours first (the dynamic linker searches the program before the library). The original is called
// whenever nothing was decided, so an empty table (seam_table.h) is default XLA. Interposed are the functions in
// seams.cc, library_seams.cc and codegen_seams.cc.
#pragma once

#include "decisions/seam_table.h"
#include "xla/hlo/ir/hlo_instructions.h"

namespace hone::xla_side {

// XLA's own support check with broadcasts and data movement allowed; never reductions (they miscompile when relaxed).
bool tiled_emitter_can(const xla::HloFusionInstruction& fusion);
bool tiled_emitter_default(const xla::HloFusionInstruction& fusion);

}  // namespace hone::xla_side
