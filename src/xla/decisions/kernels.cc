#include "decisions/kernels.h"

#include <set>

#include "base/rng.h"
#include "decisions/fingerprints.h"
#include "decisions/instruction_runs.h"
#include "decisions/lower.h"
#include "decisions/program_options.h"
#include "decisions/seam_state.h"
#include "decisions/seams.h"
#include "graph/kernel_option.h"
#include "status.h"
#include "xla/backends/cpu/codegen/fusion_compiler.h"
#include "xla/backends/cpu/codegen/tiled/tiled_fusion_emitter.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/service/hlo_cost_analysis.h"
#include "xla/tools/hlo_decomposer.h"
#include "xla_pch.h"

namespace hone::xla_side {

using Emitter = KernelOption::Emitter;
namespace {

constexpr double kMaxTileElements = 32768;  // XLA's lowering aborts at 65,536
constexpr double kMaxTilings = 50000;       // enumerating more takes seconds
constexpr double kCompiledDotFlops = 4e6;   // above, compiled loops lose to libraries 50-fold
constexpr size_t kRememberedBytes = 128u << 20;

std::string join(absl::Span<const int64_t> sizes) {
  std::string text;
  for (int64_t size : sizes) text += (text.empty() ? "" : ",") + std::to_string(size);
  return text;
}

double padded_elements(absl::Span<const int64_t> tile) {
  double product = 1;
  for (int64_t size : tile)
    product *= std::pow(2.0, std::ceil(std::log2(static_cast<double>(std::max<int64_t>(size, 1)))));
  return product;
}

// One context per process, never destroyed: its destructor would run code of an LLVM version other than our headers'.
mlir::MLIRContext& mlir_context() {
  static mlir::MLIRContext* context = xla::cpu::FusionCompiler::CreateContext().release();
  return *context;
}

void sample(std::vector<std::string>& tiles, int max_tiles) {
  if (static_cast<int>(tiles.size()) <= max_tiles) return;
  Rng rng(tiles.size());
  for (int i = 0; i < max_tiles; ++i) std::swap(tiles[i], tiles[i + rng.below(tiles.size() - i)]);
  tiles.resize(max_tiles);
  std::sort(tiles.begin(), tiles.end());
}

void list_tiles(const xla::HloFusionInstruction& fusion, int max_tiles, KernelInfo& kernel) {
  if (!seam_on("tile") || !seam_on("tiled-support") || !tiled_emitter_can(fusion)) return;
  double space = 1;
  for (int64_t d : fusion.fused_expression_root()->shape().dimensions())
    space *= std::floor(std::log2(static_cast<double>(std::max<int64_t>(d, 1)))) + 2;
  if (space > kMaxTilings || (max_tiles == 0 && !kernel.tiled)) return;
  auto analysis = xla::cpu::GetSymbolicTileAnalysis(mlir_context(), fusion);
  if (!analysis.ok()) return;
  const auto& specification = analysis->GetTilingSpecification();
  if (kernel.tiled) {
    auto chosen = xla::cpu::GetTiling(mlir_context(), fusion, *analysis);
    if (chosen.ok())
      if (auto flat = chosen->Flatten(specification); flat.ok()) kernel.default_tile = join(*flat);
  }
  if (max_tiles == 0) return;
  auto tilings = analysis->GetValidTilings();
  if (!tilings.ok()) return;
  kernel.tiles = tilings->size();
  std::vector<std::string> tiles;
  for (const auto& tiling : *tilings) {
    auto flat = tiling.Flatten(specification);
    if (!flat.ok() || padded_elements(*flat) > kMaxTileElements) continue;
    const std::string text = join(*flat);
    if (text != kernel.default_tile)
      tiles.push_back(to_text({.emitter = Emitter::Tiled, .tile = {flat->begin(), flat->end()}}));
  }
  sample(tiles, max_tiles);
  for (std::string& tile : tiles) kernel.dimension.options.push_back(std::move(tile));
}

void list_options(const xla::HloInstruction& instruction, int threads, int max_tiles, KernelInfo& kernel) {
  Dimension& dimension = kernel.dimension;
  dimension.key = kernel.fingerprint;
  const auto offer = [&](const KernelOption& option) { dimension.options.push_back(to_text(option)); };
  offer({});
  if (kernel.kind != "fusion") {
    dimension.kind = DecisionKind::Library;
    if (kernel.kind == "dot" && seam_on("dot-strategy")) {
      offer({.emitter = Emitter::Eigen});
      if (kernel.flops < kCompiledDotFlops) offer({.emitter = Emitter::Llvm}), offer({.emitter = Emitter::Naive});
    }
    if (kernel.kind == "convolution" && seam_on("conv-ynn")) offer({.emitter = Emitter::Eigen});
    return;
  }
  dimension.kind = DecisionKind::Codegen;
  if (!instruction.IsLoopFusion()) return;
  const auto& fusion = *xla::Cast<xla::HloFusionInstruction>(&instruction);
  kernel.tiled = tiled_emitter_default(fusion);
  if (kernel.tiled) offer({.emitter = Emitter::Loop});
  offer({.emitter = Emitter::Loop, .unroll = false});
  offer({.emitter = Emitter::Loop, .slp = false});
  offer({.emitter = Emitter::Loop, .optimize_size = true});
  if (threads > 1) {
    offer({.partitions = 1});
    for (int n = 2; n <= 4 * threads; n *= 2) offer({.emitter = Emitter::Loop, .partitions = n});
  }
  list_tiles(fusion, max_tiles, kernel);
}

void count_costs(const xla::HloModule& module, KernelInfo& kernel) {
  // One analysis per kernel: it skips ids it has already counted, so a second module with equal ids would cost 0.
  xla::HloCostAnalysis cost([](const xla::Shape& shape) { return xla::ShapeUtil::ByteSizeOf(shape, 8); });
  if (!module.entry_computation()->Accept(&cost).ok()) return;
  kernel.flops = std::max(0.0f, cost.flop_count());
  kernel.transcendentals = std::max(0.0f, cost.transcendental_count());
  kernel.bytes = std::max(0.0f, cost.bytes_accessed());
  // Smaller than the output where a part of it is updated in place.
  kernel.bytes_written =
      std::max<double>(0, cost.output_bytes_accessed(*module.entry_computation()->root_instruction()));
  kernel.bytes_read = std::max(0.0, kernel.bytes - kernel.bytes_written);
  const auto* root = module.entry_computation()->root_instruction();
  for (int64_t i = 0; i < root->operand_count(); ++i)
    kernel.operand_bytes.push_back(std::max<double>(0, cost.operand_bytes_accessed(*root, i)));
}

std::string kind_of(const xla::HloInstruction& instruction) {
  return std::string(xla::HloOpcodeString(instruction.opcode()));
}

void add_occurrence(const xla::HloInstruction& instruction, const InstructionRuns& runs, KernelInfo& kernel) {
  ++kernel.count;
  kernel.runs += runs.of(instruction);
  kernel.instructions.push_back(std::string(instruction.name()));
  const std::vector<bool> outside = operands_from_outside(instruction);
  for (size_t i = 0; i < std::min(outside.size(), kernel.operand_bytes.size()); ++i)
    if (outside[i]) kernel.outside_bytes += kernel.operand_bytes[i];
}

}  // namespace

KernelInfo describe_kernel(const xla::HloInstruction& instruction, const std::string& fingerprint, int threads,
                           int max_tiles, bool want_proto) {
  KernelInfo kernel;
  kernel.fingerprint = fingerprint;
  kernel.kind = kind_of(instruction);
  auto module = xla::ExtractInstructionIntoNewModule(instruction);
  kernel.hlo = module->ToString(xla::HloPrintOptions().set_print_large_constants(true).set_print_metadata(false));
  count_costs(*module, kernel);
  if (want_proto) kernel.module_proto = module->ToProto().SerializeAsString();
  list_options(instruction, threads, max_tiles, kernel);
  return kernel;
}

const KernelInfo* KernelMemory::find(const std::string& fingerprint) const {
  const auto known = kernels_.find(fingerprint);
  return known == kernels_.end() ? nullptr : &known->second;
}

void KernelMemory::add(const KernelInfo& kernel) {
  const size_t bytes = kernel.hlo.size() + kernel.module_proto.size() + 64 * kernel.dimension.options.size();
  if (bytes_ + bytes > kRememberedBytes) kernels_.clear(), bytes_ = 0;
  if (bytes <= kRememberedBytes && kernels_.emplace(kernel.fingerprint, kernel).second) bytes_ += bytes;
}

std::vector<KernelInfo> distinct_kernels(xla::HloModule& lowered, int threads, int max_tiles, bool want_protos,
                                         KernelMemory* memory) {
  std::vector<KernelInfo> kernels;
  std::map<std::string, size_t> index;
  const InstructionRuns runs = runs_of(lowered);
  double total = 0;
  for (auto* instruction : kernels_of(lowered)) {
    const std::string fingerprint = kernel_fingerprint(*instruction);
    auto [it, fresh] = index.emplace(fingerprint, kernels.size());
    if (!fresh) {
      add_occurrence(*instruction, runs, kernels[it->second]);
      continue;
    }
    const KernelInfo* known = memory ? memory->find(fingerprint) : nullptr;
    KernelInfo kernel = known ? *known : describe_kernel(*instruction, fingerprint, threads, max_tiles, want_protos);
    if (memory && !known) memory->add(kernel);
    kernel.name = std::string(instruction->name());
    add_occurrence(*instruction, runs, kernel);
    kernels.push_back(std::move(kernel));
  }
  // A rough share of run time, enough to order a search: 40 GFLOP/s, 10 GB/s, 0.3 us a call.
  auto estimate = [](const KernelInfo& k) { return k.runs * (std::max(k.flops / 40, k.bytes / 10) + 300); };
  for (const auto& kernel : kernels) total += estimate(kernel);
  for (auto& kernel : kernels) kernel.dimension.weight = estimate(kernel) / total;
  return kernels;
}

std::unique_ptr<xla::HloModule> kernel_module(const std::string& hlo, const CompileTarget& target) {
  auto module = take(xla::ParseAndReturnUnverifiedModule(hlo), "kernel", true);
  auto& config = module->mutable_config();
  config.set_debug_options(debug_options_of(target));
  *module->mutable_entry_computation_layout() =
      xla::ComputationLayout(module->entry_computation()->ComputeProgramShape());
  return module;
}

Compiled kernel_code(const std::string& hlo, const std::string& value, const CompileTarget& target, CodeCache* cache,
                     std::vector<std::string>* objects) {
  return at_stage(Stage::Codegen, [&] {
    auto module = kernel_module(hlo, target);
    auto* root = module->entry_computation()->root_instruction();
    if (root->opcode() == xla::HloOpcode::kFusion && target.threads == 1) {
      auto config = root->backend_config<xla::cpu::BackendConfig>();
      if (config.ok()) {
        config->clear_outer_dimension_partitions();
        check(root->set_backend_config(*config), "kernel");
      }
    }
    if (!value.empty()) annotate(*root, value);
    return generate(std::move(module), target.threads, cache, objects, target.cpu);
  });
}

}  // namespace hone::xla_side
