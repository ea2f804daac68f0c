#include "passes/passes.h"

#include <chrono>
#include <sstream>

#include "base/error.h"
#include "status.h"
#include "xla/backends/cpu/codegen/target_machine_features.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/pass/hlo_pass_fix.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"
#include "xla/hlo/transforms/collectives/all_reduce_combiner.h"
#include "xla/hlo/transforms/expanders/bitcast_dtypes_expander.h"
#include "xla/hlo/transforms/expanders/cholesky_expander.h"
#include "xla/hlo/transforms/expanders/comparison_expander.h"
#include "xla/hlo/transforms/expanders/dot_decomposer.h"
#include "xla/hlo/transforms/expanders/dynamic_index_splitter.h"
#include "xla/hlo/transforms/expanders/eigh_expander.h"
#include "xla/hlo/transforms/expanders/logistic_expander.h"
#include "xla/hlo/transforms/expanders/optimization_barrier_expander.h"
#include "xla/hlo/transforms/expanders/qr_expander.h"
#include "xla/hlo/transforms/expanders/reduce_decomposer.h"
#include "xla/hlo/transforms/expanders/reshape_decomposer.h"
#include "xla/hlo/transforms/expanders/rng_bit_generator_expander.h"
#include "xla/hlo/transforms/expanders/rng_expander.h"
#include "xla/hlo/transforms/expanders/stochastic_convert_decomposer.h"
#include "xla/hlo/transforms/memory_space_propagation.h"
#include "xla/hlo/transforms/operand_upcaster.h"
#include "xla/hlo/transforms/simplifiers/algebraic_simplifier.h"
#include "xla/hlo/transforms/simplifiers/batch_dot_simplification.h"
#include "xla/hlo/transforms/simplifiers/broadcast_canonicalizer.h"
#include "xla/hlo/transforms/simplifiers/conditional_canonicalizer.h"
#include "xla/hlo/transforms/simplifiers/convolution_group_converter.h"
#include "xla/hlo/transforms/simplifiers/dynamic_dimension_simplifier.h"
#include "xla/hlo/transforms/simplifiers/flatten_call_graph.h"
#include "xla/hlo/transforms/simplifiers/float_normalization.h"
#include "xla/hlo/transforms/simplifiers/gather_simplifier.h"
#include "xla/hlo/transforms/simplifiers/hlo_constant_folding.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/transforms/simplifiers/optimize_input_output_buffer_alias.h"
#include "xla/hlo/transforms/simplifiers/reduce_window_resizer.h"
#include "xla/hlo/transforms/simplifiers/reduce_window_rewriter.h"
#include "xla/hlo/transforms/simplifiers/reshape_mover.h"
#include "xla/hlo/transforms/simplifiers/result_caster.h"
#include "xla/hlo/transforms/simplifiers/simplify_fp_conversions.h"
#include "xla/hlo/transforms/simplifiers/slice_sinker.h"
#include "xla/hlo/transforms/simplifiers/sort_simplifier.h"
#include "xla/hlo/transforms/simplifiers/sub_byte_normalization.h"
#include "xla/hlo/transforms/simplifiers/tree_reduction_rewriter.h"
#include "xla/hlo/transforms/simplifiers/tuple_simplifier.h"
#include "xla/hlo/transforms/simplifiers/zero_sized_hlo_elimination.h"
#include "xla/hlo/transforms/while_loop_trip_count_annotator.h"
#include "xla/service/all_to_all_decomposer.h"
#include "xla/service/batched_gather_scatter_normalizer.h"
#include "xla/service/batchnorm_expander.h"
#include "xla/service/call_inliner.h"
#include "xla/service/change_op_data_type.h"
#include "xla/service/conditional_simplifier.h"
#include "xla/service/conditional_to_select.h"
#include "xla/service/cpu/conv_canonicalization.h"
#include "xla/service/dynamic_padder.h"
#include "xla/service/float_support.h"
#include "xla/service/gather_expander.h"
#include "xla/service/hlo_cse.h"
#include "xla/service/hlo_verifier.h"
#include "xla/service/instruction_fusion.h"
#include "xla/service/map_inliner.h"
#include "xla/service/scatter_expander.h"
#include "xla/service/scatter_simplifier.h"
#include "xla/service/select_and_scatter_expander.h"
#include "xla/service/sharding_propagation.h"
#include "xla/service/sharding_remover.h"
#include "xla/service/topk_rewriter.h"
#include "xla/service/transpose_folding.h"
#include "xla/service/triangular_solve_expander.h"
#include "xla/service/while_loop_constant_sinking.h"
#include "xla/service/while_loop_invariant_code_motion.h"
#include "xla/service/while_loop_simplifier.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using namespace xla;  // the table uses only names of XLA's passes
using MadePass = std::unique_ptr<HloPassInterface>;

bool always(HloInstruction*) { return true; }
bool never(HloInstruction*) { return false; }
bool sorts_f32(const HloSortInstruction* sort, int64_t) { return sort->operand(0)->shape().element_type() == F32; }
bool is_dot_or_convolution(const HloInstruction* instruction) {
  return instruction->opcode() == HloOpcode::kDot || instruction->opcode() == HloOpcode::kConvolution;
}

template <class Set>
MadePass algsimp(Set set) {
  AlgebraicSimplifierOptions options;
  set(options);
  return std::make_unique<AlgebraicSimplifier>(options);
}

AlgebraicSimplifierOptions cpu_algsimp_options() {
  AlgebraicSimplifierOptions options;
  options.set_enable_dot_strength_reduction(true);
  options.set_minmax_propagate_nan(true);
  options.set_supports_non_canonical_dots(false);
  options.set_executing_on_cpu(true);
  options.set_rewrite_no_op_bitcast_convert_to_bitcast(true);
  return options;
}
MadePass cpu_algsimp() { return std::make_unique<AlgebraicSimplifier>(cpu_algsimp_options()); }

template <class Pass>
MadePass normalized(const char* name) {
  auto pipeline = std::make_unique<HloPassPipeline>(name);
  pipeline->AddPass<BatchedGatherScatterNormalizer>();
  pipeline->AddPass<Pass>();
  return pipeline;
}

// It asks the machine for nothing but the alignment of buffers, which does not depend on the target.
MadePass conv_canonicalization() {
  static const auto* const machine = new cpu::TargetMachineFeatures(/*target_machine=*/nullptr);
  return std::make_unique<cpu::ConvCanonicalization>(machine);
}

MadePass topk_rewriter() { return std::make_unique<TopkRewriter>(sorts_f32); }
MadePass widen_bf16_dots() { return std::make_unique<ChangeOpDataType>(BF16, F32, is_dot_or_convolution); }

const FloatSupport* bf16_support() {
  static const FloatSupport support(BF16, F32);
  return &support;
}
const FloatSupport* f8_support() {
  static const FloatSupport support(F8E4M3FN, F16);
  return &support;
}
const AliasInfo* alias_info() {
  static const AliasInfo info;
  return &info;
}

// The body of XLA:CPU's fixed point (cpu_compiler.cc, "simplification").
void add_simplification(HloPassPipeline& body) {
  body.AddPass<AlgebraicSimplifier>(cpu_algsimp_options());
  body.AddPass<SortSimplifier>();
  body.AddPass<HloDCE>();
  body.AddPass<GatherExpander>(GatherExpander::kEliminateSimpleGathers);
  body.AddPass<GatherSimplifier>();
  body.AddPass<TreeReductionRewriter>();
  body.AddPass<ZeroSizedHloElimination>();
  body.AddPass<WhileLoopInvariantCodeMotion>();
  body.AddPass<TupleSimplifier>();
  body.AddPass<WhileLoopConstantSinking>();
  body.AddPass<WhileLoopSimplifier>();
  body.AddPass<HloDCE>();
  body.AddPass<ReshapeMover>();
  body.AddPass<HloConstantFolding>();
  body.AddPass<ConditionalSimplifier>();
}

MadePass simplification() {
  auto pipeline = std::make_unique<HloPassPipeline>("simplification");
  pipeline->AddPass<CallInliner>(/*single_call_site=*/true);
  // The body's gather simplifier fails on batch dimensions, which XLA:CPU normalises before this point.
  pipeline->AddPass<BatchedGatherScatterNormalizer>();
  add_simplification(pipeline->AddPass<HloPassFix<HloPassPipeline>>("simplification-body"));
  pipeline->AddPass<HloCSE>(/*is_layout_sensitive=*/false);
  pipeline->AddPass<HloDCE>();
  return pipeline;
}

void add_expanders(HloPassPipeline& pipeline) {
  pipeline.AddPass<FlattenCallGraph>();
  pipeline.AddPass<ShardingRemover>();
  pipeline.AddPass<HloDCE>();
  pipeline.AddPass<SubByteNormalization>(SubByteNormalization::SET_ELEMENT_SIZE);
  pipeline.AddPass<BatchedGatherScatterNormalizer>();
  pipeline.AddPass<ResultCaster>();
  pipeline.AddPass<DotDecomposer>();
  pipeline.AddPass<OperandUpcaster>();
  pipeline.AddPass<RngExpander>();
  pipeline.AddPass<RngBitGeneratorExpander>(RandomAlgorithm::RNG_PHILOX);
  pipeline.AddPass<ZeroSizedHloElimination>();
  pipeline.AddPass<DynamicIndexSplitter>();
  pipeline.AddPass<ConditionalToSelect>();
  pipeline.AddPass<MapInliner>();
  pipeline.AddPass<TopkDecomposer>([](const HloInstruction* i) { return i->opcode() == HloOpcode::kTopK; });
  pipeline.AddPass<ComparisonExpander>();
  pipeline.AddPass<CholeskyExpander>();
  pipeline.AddPass<QrExpander>();
  pipeline.AddPass<EighExpander>();
  pipeline.AddPass<TriangularSolveExpander>();
  pipeline.AddPass<AllToAllDecomposer>();
  pipeline.AddPass<StochasticConvertDecomposer>();
  pipeline.AddPass<CallInliner>(/*single_call_site=*/true);
  pipeline.AddPass<BatchDotSimplification>();
  pipeline.AddPass<DotDecomposer>();
}

// XLA:CPU's passes before layout assignment in their order (cpu_compiler.cc, RunHloPassesThroughLayoutAssn), float
// normalisation for bf16 only.
MadePass pre_layout() {
  auto made = std::make_unique<HloPassPipeline>("pre-layout");
  HloPassPipeline& pipeline = *made;
  add_expanders(pipeline);
  pipeline.AddPass<FloatNormalization>(bf16_support());
  pipeline.AddPass<BatchDotSimplification>();
  pipeline.AddPass<ConvolutionGroupConverter>(always, never, /*filter_expansion=*/true);
  pipeline.AddPass<BatchNormExpander>(true, true, true);
  pipeline.AddPass<LogisticExpander>();
  pipeline.AddPass<ConditionalCanonicalizer>();
  pipeline.AddPass<DynamicDimensionSimplifier>();
  pipeline.AddPass<DynamicPadder>();
  add_simplification(pipeline.AddPass<HloPassFix<HloPassPipeline>>("simplification"));
  pipeline.AddPass<SelectAndScatterExpander>();
  pipeline.AddPass<ScatterExpander>(ScatterExpander::kEliminateSimpleScatters);
  pipeline.AddPass<ScatterSimplifier>();
  add_simplification(pipeline.AddPass<HloPassFix<HloPassPipeline>>("post_scatter_simplification"));
  pipeline.AddPass<BitcastDtypesExpander>();
  pipeline.AddPass<TopkRewriter>(sorts_f32);
  pipeline.AddPass<TransposeFolding>(TransposeFolding::IsRowColumnTransposeDotOperand,
                                     TransposeFolding::NeverFoldTranspose);
  pipeline.AddPass<HloCSE>(/*is_layout_sensitive=*/false);
  pipeline.AddPass<OptimizationBarrierExpander>();
  pipeline.AddPass<TupleSimplifier>();
  pipeline.AddPass<WhileLoopTripCountAnnotator>();
  pipeline.AddPass<FlattenCallGraph>();
  pipeline.AddPass<HloDCE>();
  return made;
}

}  // namespace

const std::vector<PassRow>& passes() {
  static const std::vector<PassRow> table = {
#define PASS(name, group, standing, meaning, why, ...) \
  {name, group, PassStanding::standing, meaning, why, [] { return MadePass(__VA_ARGS__); }},
#include "passes/passes.def"
#undef PASS
  };
  return table;
}

const PassRow& pass_named(const std::string& name) {
  for (const PassRow& pass : passes())
    if (name == pass.name) return pass;
  throw Error("there is no pass '" + name + "'", "", "hone passes lists them");
}

PassRun run_pass(const PassRow& pass, HloModule& module) {
  PassRun run;
  const int64_t before = module.instruction_count();
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<bool> changed = pass.make()->Run(&module);
  run.ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (!changed.ok()) run.error = one_line(changed.status().message());
  run.changed = changed.ok() && (*changed || module.instruction_count() != before);
  return run;
}

std::string verify(HloModule& module) {
  HloVerifier verifier(/*layout_sensitive=*/false, /*allow_mixed_precision=*/true);
  const auto checked = verifier.Run(&module);
  return checked.ok() ? "" : one_line(checked.status().message());
}

void run_pass_decisions(HloModule& module, const Decisions& decisions) {
  for (const Decision& decision : decisions) {
    if (decision.kind != DecisionKind::Passes) continue;
    std::stringstream names(decision.value);
    std::string name;
    while (std::getline(names, name, ',')) {
      const PassRun run = run_pass(pass_named(name), module);
      if (!run.error.empty()) throw RunError("HLO passes: " + name + ": " + run.error);
    }
  }
}

}  // namespace hone::xla_side
