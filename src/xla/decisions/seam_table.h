// The table the seams read: the decisions about one module while XLA compiles it, and a record of XLA's queries.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
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
inline constexpr char kPackedAttribute[] = "hone_packed";    // of a parameter, "1"

struct FusionEdge {
  std::string key;  // "producer>consumer", names in the module before fusion
  bool default_fuse = false;
};

struct Reduction {
  bool default_ynn = false;
  double bytes = 0;  // of the operand
};

// The answers one run of the fusion pass got about an edge, and those it would have got without a decision about the
// edge. The pass is deterministic, queries one edge after the other and depends on decisions only through the answers
// (XLA's own check has state, so it runs for every query in any case). By induction over the queries: decisions that
// give the same answer to every query of a run lead to the same run and the same kernels.
enum EdgeAnswer : uint8_t { kFused = 1, kKept = 2, kFusedByDefault = 4, kKeptByDefault = 8 };
// All answers about an edge, or-ed: it may be queried more than once.
using EdgeAnswers = absl::flat_hash_map<std::string, uint8_t>;

// A module as it left layout assignment, and the reductions that XLA had asked about by then.
struct WithLayouts {
  std::unique_ptr<xla::HloModule> module;
  std::map<std::string, Reduction> reductions;
};

// One module compiles at a time in a process; the table is filled before and cleared after (see SeamScope).
struct SeamTable {
  struct DecidedEdge {
    bool fuse = false;
    bool met = false;  // out: the fusion pass asked about it
  };
  std::unordered_map<std::string, DecidedEdge> fusion;  // by edge key
  bool forbid_duplication = false;                      // a producer with several users is not fused
  bool record_edges = false;
  std::vector<FusionEdge> edges;   // out: legal edges queried, with the first answer for each
  EdgeAnswers* answers = nullptr;  // out, if not null: the answers given to the fusion pass
  std::unordered_map<std::string, std::string>
      dot_library;  // dot shape key -> library, for the overload without an instruction
  std::unordered_map<std::string, bool> reduce_ynn;     // reduction key -> YNNPACK runs it
  bool reduce_ynn_default = true;                       // without an entry: true = XLA's own choice, false = never
  std::map<std::string, Reduction> reductions;          // out: those YNNPACK can run, as queried by XLA
  std::set<int64_t> packed;                             // parameters that YNNPACK packs once
  std::unique_ptr<xla::HloModule>* snapshot = nullptr;  // out, if not null: a copy of the module before fusion
  bool tagged = false;                                  // the module to fuse already has its tags
  bool has_layouts = false;                             // the module to lower left layout assignment before
  WithLayouts* with_layouts = nullptr;                  // out, if not null
};
SeamTable& seam_table();

// Clears the table when it goes out of scope.
struct SeamScope {
  ~SeamScope() { seam_table() = SeamTable(); }
};

// Writes the names of all instructions into their metadata (op_type="@name"). Fusion preserves it, so an edge keeps its
// name while fusions grow.
void tag_module(xla::HloModule& module);

// Layouts are left out, so that the key is the same before and after layout assignment. See graph/decision_families.def.
std::string reduce_key(const xla::HloInstruction& reduce);

std::string dot_shape_key(const xla::DotDimensionNumbers& numbers, const xla::Shape& lhs, const xla::Shape& rhs);

}  // namespace hone::xla_side
