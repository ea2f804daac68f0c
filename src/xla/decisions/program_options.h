// Options of XLA's compiler that are decided for a whole program.
#pragma once

#include <vector>

#include "decisions/compile_target.h"
#include "graph/decision.h"
#include "graph/program_option.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

// Where a decision about the whole program is read first: by XLA's passes before the end of layout assignment, by those after it, of
// which fusion is the first, or by code generation and the executable.
enum class OptionReader { Passes, Fusion, Codegen };
// `decision`: of the stage Options. Passes for those that do not exist.
OptionReader first_reader(const Decision& decision);

// How many of the target's threads a value of kIntraOpThreads leaves.
int threads_of(const std::string& value, int threads);

// XLA's flags under the target's limits, before any decision. Throws Error for a limit that does not exist.
xla::DebugOptions debug_options_of(const CompileTarget& target);
// `decisions`: those of the stage Options. Throws Error for options or values that do not exist and for those the target does
// not allow.
void apply_program_options(xla::DebugOptions& debug, const CompileTarget& target, const Decisions& decisions);
// The whole program's dimensions that can be decided for this target (options, library, weights); no fusion edges.
std::vector<Dimension> program_dimensions(const xla::HloModule& program, const CompileTarget& target);

}  // namespace hone::xla_side
