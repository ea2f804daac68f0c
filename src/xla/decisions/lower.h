// From a program and its decisions to a lowered module, and from a lowered module to machine code.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "decisions/code_cache.h"
#include "decisions/compile_target.h"
#include "decisions/compiled.h"
#include "decisions/run_settings.h"
#include "decisions/seam_table.h"
#include "graph/decision.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/literal.h"

namespace hone::xla_side {

struct Lowered {
  std::unique_ptr<xla::HloModule> module;
  std::vector<FusionEdge> edges;                // legal fusion edges, when recorded
  std::map<std::string, Reduction> reductions;  // by key: those that YNNPACK can run
  std::vector<Storage> storage;                 // per entry parameter
  Decisions unmatched;                          // edges, reductions and kernels that XLA did not come by
  RunSettings run;                              // the target's threads, or fewer by the decisions
  double pass_ms = 0;
};

// What else lower() records.
struct LoweringRecords {
  bool edges = false;  // Lowered::edges
  std::unique_ptr<xla::HloModule>* before_fusion =
      nullptr;                          // receives a copy of the module as it reached the fusion pass
  WithLayouts* with_layouts = nullptr;  // the same as it left layout assignment
};

// Runs XLA's HLO passes on a copy of the program under the decisions, then writes the kernel and library decisions to
// the instructions they belong to. `inputs` (one literal per parameter) is needed only for constant weights.
// Throws Error for decisions that do not fit and RunError when XLA fails.
Lowered lower(const xla::HloModule& program, const CompileTarget& target, const Decisions& decisions,
              const std::vector<xla::Literal>* inputs = nullptr, const LoweringRecords& records = {});

// The passes after layout assignment alone, on a copy. `with_layouts` and `storage` are of a lowering under the same decisions but
// for those that read_after_layouts(). Throws as lower().
Lowered lower_from_layouts(const WithLayouts& with_layouts, const std::vector<Storage>& storage,
                           const CompileTarget& target, const Decisions& decisions);

// Whether XLA reads nothing of the decision before the end of layout assignment.
bool read_after_layouts(const Decision& decision);
// Whether it changes code generation and the executable alone: with set_code_options() the same lowered module serves.
bool read_by_codegen(const Decision& decision);
// Gives a lowered module the program options of these decisions, in place of those that it was lowered under.
void set_code_options(Lowered& lowered, const CompileTarget& target, const Decisions& decisions);

// Tells the fusion seam what was decided, until the SeamScope around it ends: edges by the decisions of the stage Fusion,
// whether producers may be copied by those of the stage Options. Decisions about anything else are passed over.
void fill_fusion_table(const Decisions& at_fusion, const Decisions& options, bool record_edges);

// A copy in which everything is called as in the original; XLA's own clones call their fused computations otherwise.
std::unique_ptr<xla::HloModule> copy_with_names(const xla::HloModule& module);

// A copy in which passes can go on: everything is called as in the original, and what they make will be. XLA numbers new
// instructions by all names that were ever taken in a module.
std::unique_ptr<xla::HloModule> copy_to_resume(const xla::HloModule& module);

// The kernel decisions alone, on a module lowered under the others. `known`: fingerprints by instruction name, filled where
// one is missing; may be null. Returns those that match no kernel.
Decisions mark_kernels(xla::HloModule& module, const Decisions& decisions,
                       std::unordered_map<std::string, std::string>* known = nullptr);

// Applies one kernel's decision value ("loop", "tile=8,8;unroll=0", "eigen") to its instruction.
void annotate(xla::HloInstruction& kernel, const std::string& value);

// Dots, convolutions and fusions of all computations that run (not those inside fusions).
std::vector<xla::HloInstruction*> kernels_of(xla::HloModule& module);

// Code generation of a lowered module. What `cache` has is not compiled again; an executable of which a part was not cannot
// be exported. `objects`, if not null, receives the ELF files that the code is made of. `cpu`: that it is for, as LLVM calls it, with the
// instructions that this CPU has as well; empty = this one. The code for another is not cached and must not be run.
Compiled generate(std::unique_ptr<xla::HloModule> module, int threads, CodeCache* cache = nullptr,
                  std::vector<std::string>* objects = nullptr, const std::string& cpu = {});

}  // namespace hone::xla_side
