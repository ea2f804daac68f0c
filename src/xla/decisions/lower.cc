#include "decisions/lower.h"

#include <unordered_set>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "decisions/dnnl_calls.h"
#include "decisions/fingerprints.h"
#include "decisions/layouts.h"
#include "decisions/operation_rewrites.h"
#include "decisions/program_options.h"
#include "decisions/recurrence.h"
#include "decisions/weights.h"
#include "graph/decision_family.h"
#include "graph/kernel_option.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include "passes/passes.h"
#include "status.h"
#include "xla/backends/cpu/target_machine_options.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/service/cpu/cpu_compiler.h"
#include "xla/service/cpu/cpu_executable.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

// XLA's settings of this CPU for another: its scheduling and costs, and of the instructions those that it has as well.
xla::Compiler::CompileOptions options_for(const std::string& cpu, const xla::DebugOptions& debug) {
  xla::Compiler::CompileOptions options;
  if (cpu.empty()) return options;
  if (llvm::X86::parseArchX86(cpu, /*Only64Bit=*/true) == llvm::X86::CK_None)
    throw Error("LLVM knows no such CPU", cpu, "name one as its -mcpu does: znver4, emeraldrapids");
  llvm::SmallVector<llvm::StringRef> has;
  llvm::X86::getFeaturesForCPU(cpu, has);
  const xla::cpu::TargetMachineOptions here(debug);
  std::vector<std::string> features;
  for (const std::string& feature : here.enabled_features())
    if (absl::StartsWith(feature, "prefer-") || std::find(has.begin(), has.end(), feature) != has.end())
      features.push_back("+" + feature);
  for (const std::string& missing : here.disabled_features()) features.push_back("-" + missing);
  options.cpu_target_config.emplace(xla::cpu::TargetMachineOptions(here.triple(), cpu, absl::StrJoin(features, ",")));
  return options;
}

// Single reductions: those left to YNNPACK need reductions among its fusion types, and then the others must say no.
void fill_reduce_table(xla::DebugOptions& debug, const Decisions& at_fusion) {
  SeamTable& table = seam_table();
  for (const Decision& d : at_fusion) {
    if (!belongs_to(FamilyId::Reduction, d.kind, d.key)) continue;
    if (d.value != kYnnpackReduction && d.value != kCompiledReduction)
      throw Error("no library '" + d.value + "' for a reduction", d.key, "ynn or compiled");
    table.reduce_ynn[d.key] = d.value == kYnnpackReduction;
  }
  if (table.reduce_ynn.empty()) return;
  const auto& types = debug.xla_cpu_experimental_ynn_fusion_type();
  table.reduce_ynn_default =
      std::find(types.begin(), types.end(), xla::DebugOptions::LIBRARY_FUSION_TYPE_REDUCE) != types.end();
  if (!table.reduce_ynn_default)
    debug.add_xla_cpu_experimental_ynn_fusion_type(xla::DebugOptions::LIBRARY_FUSION_TYPE_REDUCE);
}

void strip_tags(xla::HloModule& module) {
  for (auto* computation : module.computations())
    for (auto* instruction : computation->instructions()) {
      if (instruction->metadata().op_type().rfind("@", 0) != 0) continue;
      xla::OpMetadata metadata = instruction->metadata();
      metadata.clear_op_type();
      instruction->set_metadata(metadata);
    }
}

xla::cpu::CpuCompiler& compiler() {
  static auto* instance = new xla::cpu::CpuCompiler;
  return *instance;
}

bool has_option(const Decisions& options, const std::string& key, const std::string& value) {
  return std::any_of(options.begin(), options.end(), [&](const Decision& d) {
    return d.kind == DecisionKind::Option && d.key == key && d.value == value;
  });
}

void set_buffers_and_waits(RunSettings& run, const Decisions& options) {
  run.huge_pages = has_option(options, "huge_pages", "on");
  run.active_wait = has_option(options, kWaitPolicy, "active");
}

// The target with the threads that the decisions leave it.
CompileTarget with_threads(const CompileTarget& target, const Decisions& decisions) {
  CompileTarget used = target;
  for (const Decision& d : decisions)
    if (d.kind == DecisionKind::Option && d.key == kIntraOpThreads) used.threads = threads_of(d.value, target.threads);
  return used;
}

// Tells XLA, by the module's configuration, and the seams, by their table, what was decided.
void configure(xla::HloModule& module, const CompileTarget& used, const Decisions& decisions, bool record_edges) {
  const Decisions options = of_stage(decisions, DecisionStage::Options),
                  at_fusion = of_stage(decisions, DecisionStage::Fusion);
  xla::DebugOptions debug = debug_options_of(used);
  apply_program_options(debug, used, options);
  fill_reduce_table(debug, at_fusion);
  fill_fusion_table(at_fusion, options, record_edges);
  module.mutable_config().set_debug_options(debug);
  module.mutable_config().set_intra_op_parallelism_threads(used.threads);
}

void run_hlo_passes(std::unique_ptr<xla::HloModule> module, Lowered& out) {
  out.module = take(compiler().RunHloPasses(std::move(module), nullptr, {}), "HLO passes");
  std::map<std::string, bool> seen;
  for (const FusionEdge& edge : seam_table().edges)
    if (seen.emplace(edge.key, true).second) out.edges.push_back(edge);
  out.reductions = seam_table().reductions;
}

// While the table of the run is there. XLA asks about every edge and reduction that it comes by.
void add_unmatched_at_fusion(const Decisions& decisions, Lowered& out) {
  const SeamTable& table = seam_table();
  for (const Decision& d : of_stage(decisions, DecisionStage::Fusion)) {
    const auto edge = table.fusion.find(d.key);
    const bool met = d.kind == DecisionKind::Fusion ? edge != table.fusion.end() && edge->second.met
                                                    : out.reductions.contains(d.key);
    if (!met) out.unmatched.push_back(d);
  }
}

void finish(Lowered& out, const CompileTarget& used, const Decisions& decisions) {
  set_buffers_and_waits(out.run, decisions);
  out.run.threads = used.threads;
  mark_packed(*out.module, out.storage);
  out.unmatched = mark_kernels(*out.module, decisions);
  add_unmatched_at_fusion(decisions, out);
}

}  // namespace

void fill_fusion_table(const Decisions& at_fusion, const Decisions& options, bool record_edges) {
  SeamTable& table = seam_table();
  table.record_edges = record_edges;
  for (const Decision& d : at_fusion)
    if (d.kind == DecisionKind::Fusion) table.fusion[d.key].fuse = d.value == "fuse";
  for (const Decision& d : options)
    if (d.kind == DecisionKind::Option && d.key == "fusion_duplication") table.forbid_duplication = d.value == "forbid";
}

Lowered lower(const xla::HloModule& program, const CompileTarget& target, const Decisions& decisions,
              const std::vector<xla::Literal>* inputs, const LoweringRecords& records) {
  // Each decision is seen at its stage and at no other (graph/decisions.def).
  const Decisions on_program = of_stage(decisions, DecisionStage::Program);
  const CompileTarget used = with_threads(target, decisions);
  Lowered out;
  auto module = program.Clone("");
  module->set_name(program.name());
  out.storage = weight_storage(*module, target.weights, on_program);
  apply_weight_storage(*module, out.storage, inputs);
  apply_rewrites(*module, on_program);
  finish_dnnl_calls(*module, used);
  finish_recurrences(*module, used.weights);
  SeamScope scope;
  const LayoutScope layouts(of_stage(decisions, DecisionStage::Layouts));
  configure(*module, used, decisions, records.edges);
  seam_table().snapshot = records.before_fusion;
  seam_table().with_layouts = records.with_layouts;
  const double start_s = steady_s();
  run_pass_decisions(*module, on_program);
  run_hlo_passes(std::move(module), out);
  layouts.check_all_met();
  out.pass_ms = ms_since(start_s);
  // Recorded edges name instructions by these tags (op_type="@name before fusion"). Fingerprints ignore metadata.
  if (!records.edges) strip_tags(*out.module);
  finish(out, used, decisions);
  return out;
}

Lowered lower_from_layouts(const WithLayouts& with_layouts, const std::vector<Storage>& storage,
                           const CompileTarget& target, const Decisions& decisions) {
  const CompileTarget used = with_threads(target, decisions);
  Lowered out;
  out.storage = storage;
  auto module = copy_to_resume(*with_layouts.module);
  SeamScope scope;
  configure(*module, used, decisions, /*record_edges=*/false);
  seam_table().has_layouts = true;
  seam_table().reductions = with_layouts.reductions;
  const double start_s = steady_s();
  run_hlo_passes(std::move(module), out);
  out.pass_ms = ms_since(start_s);
  strip_tags(*out.module);
  finish(out, used, decisions);
  return out;
}

bool read_by_codegen(const Decision& decision) {
  const DecisionStage stage = stage_of(decision.kind, decision.key);
  return stage == DecisionStage::Kernels ||
         (stage == DecisionStage::Options && first_reader(decision) == OptionReader::Codegen);
}

bool read_after_layouts(const Decision& decision) {
  return decision.kind == DecisionKind::Fusion || read_by_codegen(decision) ||
         (stage_of(decision.kind, decision.key) == DecisionStage::Options &&
          first_reader(decision) == OptionReader::Fusion);
}

void set_code_options(Lowered& lowered, const CompileTarget& target, const Decisions& decisions) {
  const Decisions options = of_stage(decisions, DecisionStage::Options);
  xla::DebugOptions debug = debug_options_of(target);
  apply_program_options(debug, target, options);
  SeamScope scope;
  fill_reduce_table(debug, of_stage(decisions, DecisionStage::Fusion));
  lowered.module->mutable_config().set_debug_options(debug);
  set_buffers_and_waits(lowered.run, options);
}

std::unique_ptr<xla::HloModule> copy_with_names(const xla::HloModule& module) {
  auto [copy, context] = module.CloneWithContext("");
  copy->set_name(module.name());
  for (const auto* computation : module.computations())
    if (auto* clone = context->FindComputation(computation)) clone->SetAndSanitizeName(computation->name());
  return std::move(copy);
}

Decisions mark_kernels(xla::HloModule& module, const Decisions& decisions,
                       std::unordered_map<std::string, std::string>* known) {
  Decisions unmatched = of_stage(decisions, DecisionStage::Kernels);
  std::unordered_map<std::string, std::string> values;
  for (const Decision& d : unmatched) values[d.key] = d.value;
  if (values.empty()) return {};
  std::unordered_set<std::string> met;
  std::unordered_map<std::string, std::string> own;
  std::unordered_map<std::string, std::string>& fingerprints = known ? *known : own;
  for (auto* kernel : kernels_of(module)) {
    std::string& fingerprint = fingerprints[std::string(kernel->name())];
    if (fingerprint.empty()) fingerprint = kernel_fingerprint(*kernel);
    const auto it = values.find(fingerprint);
    if (it == values.end()) continue;
    annotate(*kernel, it->second);
    met.insert(fingerprint);
  }
  std::erase_if(unmatched, [&](const Decision& d) { return met.contains(d.key); });
  return unmatched;
}

void annotate(xla::HloInstruction& kernel, const std::string& value) {
  using Emitter = KernelOption::Emitter;
  const KernelOption option = KernelOption::parse(value);
  const bool library = kernel.opcode() == xla::HloOpcode::kDot || kernel.opcode() == xla::HloOpcode::kConvolution;
  if (option.emitter == Emitter::Ynnpack || (option.is_library() && !library))
    throw Error("kernel decision '" + value + "' does not fit " + std::string(xla::HloOpcodeString(kernel.opcode())));
  if (option.is_library()) kernel.set_frontend_attribute(kLibraryAttribute, emitter_name(option.emitter));
  if (option.emitter == Emitter::Loop) kernel.set_frontend_attribute(kEmitterAttribute, "loop");
  if (option.emitter == Emitter::Tiled) {
    kernel.set_frontend_attribute(kEmitterAttribute, "tiled");
    kernel.set_frontend_attribute(kTileAttribute, tile_text(option.tile));
  }
  if (option.flags_text().empty()) return;
  auto config = kernel.backend_config<xla::cpu::BackendConfig>();
  xla::cpu::BackendConfig changed = config.ok() ? *config : xla::cpu::BackendConfig();
  if (!option.unroll) changed.mutable_llvm_kernel_options()->set_disable_loop_unrolling(true);
  if (!option.slp) changed.mutable_llvm_kernel_options()->set_slp_vectorizer_disabled(true);
  if (option.optimize_size) changed.mutable_llvm_kernel_options()->set_optimize_for_size(true);
  if (option.partitions > 0) {
    changed.clear_outer_dimension_partitions();
    if (option.partitions > 1) changed.add_outer_dimension_partitions(option.partitions);
  }
  check(kernel.set_backend_config(changed), "kernel option");
}

std::vector<xla::HloInstruction*> kernels_of(xla::HloModule& module) {
  std::vector<xla::HloInstruction*> kernels;
  for (auto* computation : module.MakeNonfusionComputations())
    for (auto* instruction : computation->instructions())
      if (instruction->opcode() == xla::HloOpcode::kFusion || instruction->opcode() == xla::HloOpcode::kDot ||
          instruction->opcode() == xla::HloOpcode::kConvolution)
        kernels.push_back(instruction);
  return kernels;
}

void DeleteCompiled::operator()(xla::cpu::CpuExecutable* compiled) const { delete compiled; }

Compiled generate(std::unique_ptr<xla::HloModule> module, int threads, CodeCache* cache,
                  std::vector<std::string>* objects, const std::string& cpu) {
  const xla::Compiler::CompileOptions options = options_for(cpu, module->config().debug_options());
  module->mutable_config().set_intra_op_parallelism_threads(threads);
  SeamScope scope;
  seam_table().packed = marked_packed(*module);
  const CodeScope code(cpu.empty() ? cache : nullptr, *module, objects);
  for (auto* kernel : kernels_of(*module)) {
    if (kernel->opcode() != xla::HloOpcode::kDot) continue;
    const auto& attributes = kernel->frontend_attributes().map();
    auto it = attributes.find(kLibraryAttribute);
    if (it != attributes.end())
      seam_table().dot_library[dot_shape_key(kernel->dot_dimension_numbers(), kernel->operand(0)->shape(),
                                             kernel->operand(1)->shape())] = it->second;
  }
  auto executable = take(compiler().RunBackend(std::move(module), nullptr, options), "code generation");
  return Compiled(static_cast<xla::cpu::CpuExecutable*>(executable.release()));
}

}  // namespace hone::xla_side
