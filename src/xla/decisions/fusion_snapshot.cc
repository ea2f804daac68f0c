#include "decisions/fusion_snapshot.h"

#include "absl/hash/hash.h"
#include "decisions/fingerprints.h"
#include "decisions/instruction_runs.h"
#include "decisions/lower.h"
#include "status.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/transforms/simplifiers/algebraic_simplifier.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/service/cpu/cpu_instruction_fusion.h"
#include "xla/service/cpu/fusion_wrapper.h"
#include "xla/service/hlo_cse.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

constexpr int kMostRounds = 25;         // of simplification, as in XLA
constexpr size_t kRememberedRuns = 48;  // annealing returns to its current configuration

const xla::AliasInfo* plain_alias_info() {
  static const xla::AliasInfo info;
  return &info;
}

// The passes of CpuCompiler from fusion on, with its options, as far as kernels depend on them.
void run_tail(xla::HloModule& module) {
  const xla::DebugOptions& debug = module.config().debug_options();
  const bool tiled = debug.xla_backend_extra_options().count("xla_cpu_disable_tiled_emitter") == 0;
  xla::AlgebraicSimplifierOptions simplify;
  simplify.set_is_layout_sensitive(true);
  simplify.set_supports_non_canonical_dots(false);
  simplify.set_enable_dot_strength_reduction(true);
  simplify.set_minmax_propagate_nan(!debug.xla_cpu_enable_fast_min_max());
  simplify.set_executing_on_cpu(true);

  check(xla::cpu::CpuInstructionFusion(plain_alias_info()).Run(&module).status(), "HLO passes");
  check(xla::cpu::FusionWrapper(/*using_new_fusion_emitter=*/true, tiled).Run(&module).status(), "HLO passes");
  // To a fixed point as XLA's pipeline does, without its bookkeeping of changed computations.
  xla::AlgebraicSimplifier simplifier(simplify);
  xla::HloDCE dead_code;
  xla::HloCSE common(/*is_layout_sensitive=*/true);
  bool changed = true;
  for (int round = 0; changed && round < kMostRounds; ++round) {
    changed = false;
    for (xla::HloPassInterface* pass :
         {static_cast<xla::HloPassInterface*>(&simplifier), static_cast<xla::HloPassInterface*>(&dead_code),
          static_cast<xla::HloPassInterface*>(&common)})
      changed |= take(pass->Run(&module), "HLO passes");
  }
  check(dead_code.Run(&module).status(), "HLO passes");
}

void add(std::string& bytes, size_t word) { bytes.append(reinterpret_cast<const char*>(&word), sizeof word); }

size_t content_hash(const xla::Literal& literal) {
  return absl::HashOf(absl::string_view(static_cast<const char*>(literal.untyped_data()), literal.size_bytes()));
}

size_t shape_hash(const xla::Shape& shape) { return absl::HashOf(shape); }

// Whether the decision `value` ("" = none) about an edge would have given the same answers. False for "fuse" where a
// run kept the edge: whether that fusion is legal is unknown.
bool same_answer(const EdgeAnswers& answers, const std::string& edge, const std::string& value) {
  const auto found = answers.find(edge);
  if (found == answers.end()) return true;  // never asked about
  const uint8_t given = found->second;
  if (value == "keep") return (given & kFused) == 0;
  if (value == "fuse") return (given & kKept) == 0;
  return given == (kFused | kFusedByDefault) || given == (kKept | kKeptByDefault);
}

// Whether all decisions in which two sorted lists differ would have given the fusion pass the same answers.
bool same_answers(const Decisions& given, const EdgeAnswers& answers, const Decisions& decisions) {
  auto a = given.begin(), b = decisions.begin();
  const auto edge_less = [](const Decision& x, const Decision& y) {
    return x.kind != y.kind ? x.kind < y.kind : x.key < y.key;
  };
  while (a != given.end() || b != decisions.end()) {
    const bool only_a = b == decisions.end() || (a != given.end() && edge_less(*a, *b));
    const bool only_b = !only_a && (a == given.end() || edge_less(*b, *a));
    const Decision& d = only_a ? *a : *b;
    if (only_a || only_b || a->value != b->value)
      if (d.kind != DecisionKind::Fusion || !same_answer(answers, d.key, only_a ? "" : d.value)) return false;
    if (!only_b) ++a;
    if (!only_a) ++b;
  }
  return true;
}

template <class Fingerprint>
CountedKernels count_by(xla::HloModule& module, Fingerprint fingerprint) {
  CountedKernels kernels;
  const InstructionRuns runs = runs_of(module);
  for (const auto* instruction : kernels_of(module)) {
    CountedKernel& kernel = kernels[fingerprint(*instruction)];
    if (kernel.count++ == 0) kernel.first = instruction;
    kernel.runs += runs.of(*instruction);
  }
  return kernels;
}

}  // namespace

bool same_kernels(const CountedKernels& a, const CountedKernels& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.count == y.second.count && x.second.runs == y.second.runs;
  });
}

CountedKernels count_kernels(xla::HloModule& module) { return count_by(module, content_fingerprint); }

CountedKernels FusionSnapshot::count(xla::HloModule& fused) {
  return count_by(fused, [this](const xla::HloInstruction& kernel) { return fingerprint(kernel); });
}

bool decided_by_fusion(const Decision& decision) {
  return decision.kind == DecisionKind::Fusion ||
         (decision.kind == DecisionKind::Option && decision.key == "fusion_duplication");
}

FusionSnapshot::FusionSnapshot(std::unique_ptr<xla::HloModule> module) : module_(std::move(module)) {
  const auto print = xla::HloPrintOptions::Canonical().set_include_layout_in_shapes(true).set_print_metadata(false);
  for (auto* computation : module_->computations())
    for (auto* instruction : computation->instructions()) {
      instruction->set_metadata({});
      instruction->set_original_value(nullptr);  // copied with each instruction otherwise
    }
  tag_module(*module_);
  for (auto* computation : module_->computations())
    for (auto* instruction : computation->instructions()) {
      // A copy has no control dependencies. That of a fusion would add a copy of its computation to the module, whose computations
      // this loop goes over.
      const auto copy = instruction->called_computations().empty() ? instruction->Clone() : nullptr;
      const xla::HloInstruction& alone = copy ? *copy : *instruction;
      std::string text = alone.shape().ToString(true);
      text += xla::HloOpcodeString(alone.opcode());
      for (const std::string& extra : alone.ExtraAttributesToString(print)) text += "," + extra;
      if (alone.opcode() == xla::HloOpcode::kConstant) text += std::to_string(content_hash(alone.literal()));
      text += instruction->raw_backend_config_string();
      content_[instruction->metadata().op_type()] = absl::HashOf(text);
    }
}

std::unique_ptr<xla::HloModule> FusionSnapshot::fuse(const Decisions& decisions) {
  auto module = module_->Clone("");
  const SeamScope scope;
  answers_.clear();
  seam_table().answers = &answers_;
  fill_fusion_table(decisions, decisions, /*record_edges=*/false);
  seam_table().tagged = true;
  run_tail(*module);
  return module;
}

void FusionSnapshot::remember(const Decisions& decisions, const CountedKernels& kernels, int64_t instructions) {
  Run run{decisions, std::move(answers_), {kernels, instructions}};
  answers_ = {};
  for (auto& [fingerprint, counted] : run.kernels.kernels) counted.first = nullptr;
  runs_.push_front(std::move(run));
  if (runs_.size() > kRememberedRuns) runs_.pop_back();
}

const RememberedKernels* FusionSnapshot::recall(const Decisions& decisions) {
  for (auto run = runs_.begin(); run != runs_.end(); ++run) {
    if (!same_answers(run->decisions, run->answers, decisions)) continue;
    runs_.splice(runs_.begin(), runs_, run);
    return &runs_.front().kernels;
  }
  return nullptr;
}

const std::string& FusionSnapshot::fingerprint(const xla::HloInstruction& kernel) {
  std::string contents;
  bool known_instructions = true;
  const auto describe = [&](const xla::HloInstruction& instruction) {
    add(contents, static_cast<size_t>(instruction.opcode()));
    add(contents, shape_hash(instruction.shape()));
    if (instruction.opcode() == xla::HloOpcode::kParameter) return add(contents, instruction.parameter_number());
    const auto known = content_.find(instruction.metadata().op_type());
    if (known == content_.end()) return void(known_instructions = false);
    add(contents, known->second);
  };
  add(contents, static_cast<size_t>(kernel.opcode()));
  add(contents, shape_hash(kernel.shape()));
  for (const auto* operand : kernel.operands()) add(contents, shape_hash(operand->shape()));
  contents += kernel.raw_backend_config_string();
  if (kernel.opcode() == xla::HloOpcode::kFusion) {
    add(contents, static_cast<size_t>(kernel.fusion_kind()));
    absl::flat_hash_map<const xla::HloInstruction*, size_t> numbers;
    for (const auto* instruction : kernel.fused_instructions_computation()->MakeInstructionPostOrder()) {
      describe(*instruction);
      for (const auto* operand : instruction->operands()) add(contents, numbers.at(operand));
      numbers.emplace(instruction, numbers.size());
    }
  } else {
    // Simplification after fusion may have replaced it by another of the same shapes and tag.
    if (kernel.opcode() == xla::HloOpcode::kDot) contents += kernel.dot_dimension_numbers().SerializeAsString();
    if (kernel.opcode() == xla::HloOpcode::kConvolution)
      contents += kernel.convolution_dimension_numbers().SerializeAsString() + kernel.window().SerializeAsString();
    describe(kernel);
  }
  if (!known_instructions) return fingerprints_[contents] = content_fingerprint(kernel);
  auto [known, fresh] = fingerprints_.try_emplace(std::move(contents));
  if (fresh) known->second = content_fingerprint(kernel);
  return known->second;
}

}  // namespace hone::xla_side
