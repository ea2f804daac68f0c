// What the seams consult: the decisions about one module while XLA compiles it, and what XLA asked.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace hone::xla_side {

// Attributes (HLO frontend attributes) that carry per-kernel decisions on instructions of a lowered module.
inline constexpr char kTileAttribute[] = "hone_tile";        // "8,8"
inline constexpr char kEmitterAttribute[] = "hone_emitter";  // "loop" | "tiled"
inline constexpr char kLibraryAttribute[] = "hone_library";  // "eigen" | "llvm" | "naive"

struct FusionEdge {
  std::string key;  // "producer>consumer", names in the module before fusion
  bool default_fuse = false;
};

struct Reduction {
  bool default_ynn = false;
  double bytes = 0;  // of the operand
};

// What one run of the fusion pass was told, by edge, and what it would have been told had nothing been decided about the
// edge. The pass is deterministic, asks about edges one after the other and sees decisions only in the answers (XLA's own
// check, which remembers what it was asked, runs for each in any case). So by induction over the questions: decisions that
// give the same answer to every question of a run lead through the same run, to the same kernels.
enum EdgeAnswer : uint8_t { kFused = 1, kKept = 2, kFusedByDefault = 4, kKeptByDefault = 8 };
// All answers about an edge, or-ed: it may be asked about more than once.
using EdgeAnswers = absl::flat_hash_map<std::string, uint8_t>;

// What the seams consult. One module compiles at a time in a process; set before, cleared after (see SeamScope).
struct SeamTable {
  std::unordered_map<std::string, bool> fusion;  // edge key -> fuse
  bool forbid_duplication = false;               // a producer with several users stays by itself
  bool record_edges = false;
  std::vector<FusionEdge> edges;   // out: legal edges asked about, first answer each
  EdgeAnswers* answers = nullptr;  // out, when wanted: what the fusion pass was told
  std::unordered_map<std::string, std::string>
      dot_library;  // dot shape key -> library, for the overload without an instruction
  std::unordered_map<std::string, bool> reduce_ynn;     // reduction key -> YNNPACK runs it
  bool reduce_ynn_default = true;                       // those without an entry: XLA's own choice, or never
  std::map<std::string, Reduction> reductions;          // out: those YNNPACK can run, as XLA asked about them
  std::unique_ptr<xla::HloModule>* snapshot = nullptr;  // out, when wanted: a copy of the module on reaching fusion
  bool tagged = false;                                  // the module to fuse carries its tags already
};
SeamTable& seam_table();

// Clears the table when it goes out of scope.
struct SeamScope {
  ~SeamScope() { seam_table() = SeamTable(); }
};

// Writes the names of all instructions into their metadata (op_type="@name"), so that an edge keeps its name while fusions
// grow: fusion keeps it.
void tag_module(xla::HloModule& module);

// Layouts are left out, so that the key is the same before and after layout assignment. See graph/decision_families.def.
std::string reduce_key(const xla::HloInstruction& reduce);

std::string dot_shape_key(const xla::DotDimensionNumbers& numbers, const xla::Shape& lhs, const xla::Shape& rhs);

}  // namespace hone::xla_side
