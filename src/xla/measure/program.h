// A loaded program with its inputs, reference outputs and compiled variants.
#pragma once
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "decisions/fusion_snapshot.h"
#include "decisions/lower.h"
#include "measure/executable.h"
#include "measure/lowerings.h"
#include "measure/measure.h"
#include "xla/literal.h"

namespace hone::xla_side {

struct Variant {
  std::unique_ptr<Executable> executable;
  std::vector<Storage> storage;
  std::string fingerprint;  // of the lowered module
  double compile_ms = 0;
  double run_ms = 0;  // of the last run_outputs(), 0 before
};

struct FusedKernels {
  std::unique_ptr<xla::HloModule> module;  // holds the instructions; null when the kernels were recalled
  CountedKernels kernels;
  int64_t instructions = 0;
  bool from_snapshot = false;
};

// Inputs of a program, and what it makes of them under default XLA.
struct InputSet {
  std::vector<xla::Literal> inputs;
  std::map<std::string, std::vector<xla::Literal>> references = {};
  std::optional<std::vector<xla::Literal>> wide_reference = {};  // empty where there is none
};

class Program {
 public:
  // `code`: of this process, outlives the program; null = everything is compiled.
  explicit Program(std::unique_ptr<xla::HloModule> module, CodeCache* code = nullptr);

  const xla::HloModule& module() const { return *module_; }
  // Sets inputs, one literal per parameter; drops compiled variants with data of the old ones.
  void set_inputs(std::vector<xla::Literal> inputs);
  // Generates inputs from the seed unless set. Draws again (up to 4 times) while default outputs are not informative.
  void prepare_inputs(uint64_t seed, const CompileTarget& target);
  const std::vector<xla::Literal>& inputs() const { return current_.inputs; }
  // Runs on these inputs from now on; they receive the former ones. Of prepared inputs.
  void exchange_inputs(InputSet& others);
  bool inputs_given() const { return given_; }

  // Compiled on first use; the last few are kept, of large programs default XLA and the last two. Inputs must be prepared. Throws
  // StageError of passes or code generation.
  Variant& variant(const CompileTarget& target, const Decisions& decisions);
  // Compiles without keeping more than the code in the cache. Returns milliseconds. Throws as variant().
  double compile(const CompileTarget& target, const Decisions& decisions);
  // Throws StageError of passes.
  Lowered lower_with(const CompileTarget& target, const Decisions& decisions, bool record_edges) const;
  // As lower_with() without edges, by way of what earlier lowerings left.
  Lowered lower_again(const CompileTarget& target, const Decisions& decisions);
  // The kernels under the decisions, by content. With one thread and no decisions about single kernels, weights or
  // multi-output fusion they come from a snapshot of the module before fusion; one is kept per list of other decisions, once a list has
  // decisions of fusion.
  // The snapshot is compared with lower_with() for the first, second, fourth, eighth configuration and so on; once it
  // differs, it is no longer used. Kernels recalled from an earlier configuration have no instructions; without
  // `recall` all have them. Throws StageError of passes.
  FusedKernels kernels_under(const CompileTarget& target, const Decisions& decisions, bool recall = true);
  // Outputs of default XLA on the current inputs.
  const std::vector<xla::Literal>& reference(const CompileTarget& target);
  // Outputs of the program in f32 (wide.h) on the same inputs, by default XLA. Null where there is no such program, it does not
  // run, or it would take more memory than is sensible.
  const std::vector<xla::Literal>* wide_reference(const CompileTarget& target);
  std::vector<xla::Literal> run_outputs(Variant& variant);
  // Stores the inputs into the variant's memory, transposing or dropping weights as it needs.
  void bind(Variant& variant);

 private:
  struct KeptSnapshot {
    std::unique_ptr<FusionSnapshot> snapshot;
    int64_t asked = 0;
    bool trusted = true;
  };

  void draw(uint64_t seed);
  void inputs_changed();
  void drop_large_variants(const CompileTarget& target);
  FusedKernels fused_kernels(const CompileTarget& target, const Decisions& decisions, bool recall);

  std::unique_ptr<xla::HloModule> module_;
  CodeCache* code_;
  InputSet current_;
  std::map<int, xla::Literal> transposed_;
  bool given_ = false, drawn_ = false;
  uint64_t seed_ = 0;
  std::list<std::pair<std::string, Variant>> variants_;  // most recent first
  std::map<std::string, KeptSnapshot> snapshots_;
  Lowerings lowerings_;
};

}  // namespace hone::xla_side
