#include "decisions/seams.h"

#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "decisions/fusion_barrier.h"
#include "decisions/layouts.h"
#include "decisions/lower.h"
#include "decisions/seam_original.h"
#include "graph/kernel_option.h"
#include "xla/backends/cpu/codegen/tiled/tiled_fusion_emitter.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/service/cpu/cpu_compiler.h"
#include "xla/service/cpu/cpu_instruction_fusion.h"
#include "xla/service/cpu/cpu_layout_assignment.h"
#include "xla/service/cpu/ir_emission_utils.h"
#include "xla/service/fusion_node_indexing_evaluation.h"
#include "xla/shape_util.h"

namespace hone::xla_side {
namespace {

using SupportFn = absl::Status (*)(const xla::HloFusionInstruction&);
SupportFn original_support() {
  static SupportFn fn =
      original<SupportFn>(kTiledSupport, "_ZN3xla3cpu22IsSupportedTiledFusionERKNS_20HloFusionInstructionE");
  return fn;
}

bool relaxed_op(const xla::HloInstruction& op) {
  using xla::HloOpcode;
  switch (op.opcode()) {
    case HloOpcode::kBroadcast:
    case HloOpcode::kBitcast:
    case HloOpcode::kIota:
    case HloOpcode::kReshape:
    case HloOpcode::kTranspose:
    case HloOpcode::kParameter:
    case HloOpcode::kSlice:
      return true;
    case HloOpcode::kConstant:
      return xla::ShapeUtil::IsEffectiveScalar(op.shape());
    case HloOpcode::kBitcastConvert:
    case HloOpcode::kMap:
    case HloOpcode::kPopulationCount:
    case HloOpcode::kReal:
    case HloOpcode::kImag:
    case HloOpcode::kSign:
    case HloOpcode::kRoundNearestAfz:
    case HloOpcode::kRoundNearestEven:
    case HloOpcode::kShiftLeft:
    case HloOpcode::kShiftRightArithmetic:
    case HloOpcode::kShiftRightLogical:
    case HloOpcode::kClz:
      return false;
    default:
      return op.IsElementwise();
  }
}

}  // namespace

std::unique_ptr<xla::HloModule> copy_to_resume(const xla::HloModule& module) {
  auto copy = copy_with_names(module);
  copy->computation_name_uniquer_->generated_names_ = module.computation_name_uniquer_->generated_names_;
  copy->instruction_name_uniquer_->generated_names_ = module.instruction_name_uniquer_->generated_names_;
  return copy;
}

// This XLA accepts a clamp with scalar bounds for tiling and then aborts on it ("Failed to infer result type(s)").
bool has_scalar_clamp(const xla::HloFusionInstruction& fusion) {
  for (const auto* op : fusion.fused_instructions())
    if (op->opcode() == xla::HloOpcode::kClamp &&
        op->operand(0)->shape().dimensions().size() != op->shape().dimensions().size())
      return true;
  return false;
}

bool tiled_emitter_default(const xla::HloFusionInstruction& fusion) {
  return !has_scalar_clamp(fusion) && original_support()(fusion).ok();
}

bool tiled_emitter_can(const xla::HloFusionInstruction& fusion) {
  if (has_scalar_clamp(fusion)) return false;
  if (tiled_emitter_default(fusion)) return true;
  if (!fusion.shape().IsArray()) return false;
  for (const auto* operand : fusion.operands())
    if (!operand->shape().IsArray()) return false;
  for (const auto* op : fusion.fused_instructions()) {
    if (!op->shape().IsArray() || !xla::cpu::IsSupportedTilingType(op->shape().element_type())) return false;
    if (!relaxed_op(*op)) return false;
  }
  return true;
}

namespace {

// Runs before the module's first fusion.
void tag_once(xla::HloModule* module) {
  static int64_t tagged = -1;
  if (seam_table().tagged || tagged == module->unique_id()) return;
  tagged = module->unique_id();
  tag_module(*module);
}

// The result is valid as long as the instruction.
absl::string_view tag_of(const xla::HloInstruction* instruction) {
  if (instruction->opcode() == xla::HloOpcode::kFusion) instruction = instruction->fused_expression_root();
  const absl::string_view tag = instruction->metadata().op_type();
  return tag.empty() || tag[0] != '@' ? instruction->name() : tag.substr(1);
}

bool loop_fusible(const xla::HloInstruction& op) {
  using xla::HloOpcode;
  if (op.IsElementwise()) return true;
  switch (op.opcode()) {
    case HloOpcode::kBitcast:
    case HloOpcode::kBroadcast:
    case HloOpcode::kConcatenate:
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kGather:
    case HloOpcode::kIota:
    case HloOpcode::kPad:
    case HloOpcode::kReduce:
    case HloOpcode::kReshape:
    case HloOpcode::kReverse:
    case HloOpcode::kSlice:
    case HloOpcode::kTranspose:
      return true;
    default:
      return false;
  }
}

int count_reduces(const xla::HloInstruction& fusion) {
  int count = 0;
  for (const auto* op : fusion.fused_instructions()) count += op->opcode() == xla::HloOpcode::kReduce;
  return count;
}

}  // namespace
}  // namespace hone::xla_side

namespace xla::cpu {

using hone::xla_side::seam_table;

// Which tile a tiled kernel uses.
absl::StatusOr<Tiling> GetTiling(mlir::MLIRContext& context, const HloFusionInstruction& fusion,
                                 const SymbolicTileAnalysis& analysis) {
  using namespace hone::xla_side;
  using Fn = absl::StatusOr<Tiling> (*)(mlir::MLIRContext&, const HloFusionInstruction&, const SymbolicTileAnalysis&);
  static Fn fn = original<Fn>(
      kTile, "_ZN3xla3cpu9GetTilingERN4mlir11MLIRContextERKNS_20HloFusionInstructionERKNS_20SymbolicTileAnalysisE");
  ++state(kTile).calls;
  auto text = attribute(fusion, kTileAttribute);
  if (!text || !state(kTile).on) return fn(context, fusion, analysis);
  const std::vector<int64_t> tile = hone::tile_from_text(*text);
  const auto& specification = analysis.GetTilingSpecification();
  if (static_cast<int64_t>(tile.size()) != specification.num_parameters())
    return absl::InvalidArgumentError("tile " + *text + " has the wrong number of sizes");
  return Tiling::Unflatten(tile, specification);
}

// Which emitter a kernel uses.
absl::Status IsSupportedTiledFusion(const HloFusionInstruction& fusion) {
  using namespace hone::xla_side;
  ++state(kTiledSupport).calls;
  auto emitter = attribute(fusion, kEmitterAttribute);
  if (state(kTiledSupport).on && has_scalar_clamp(fusion))
    return absl::UnimplementedError("a clamp with scalar bounds");
  if (!emitter || !state(kTiledSupport).on) return original_support()(fusion);
  if (*emitter == "loop") return absl::UnimplementedError("the loop emitter was chosen");
  return tiled_emitter_can(fusion) ? absl::OkStatus() : absl::UnimplementedError("not tileable");
}

// Legality without XLA's profitability rules: what the fusion emitters accept.
static bool legal_to_fuse(CpuInstructionFusion* self, HloInstruction* consumer, int64_t operand_index) {
  using namespace hone::xla_side;
  HloInstruction* producer = consumer->mutable_operand(operand_index);
  if (self->ShouldSkip(consumer)) return false;
  if (producer->opcode() == HloOpcode::kConstant &&
      (!ShapeUtil::IsEffectiveScalar(producer->shape()) || consumer->opcode() != HloOpcode::kFusion))
    return false;
  if (producer->opcode() == HloOpcode::kFusion || !loop_fusible(*producer)) return false;
  const bool consumer_ok =
      consumer->IsLoopFusion() || (consumer->opcode() != HloOpcode::kFusion && loop_fusible(*consumer));
  if (!consumer_ok) return false;
  if (!self->InstructionFusion::ShouldFuse(consumer, operand_index, InstructionFusion::ShouldFuseInPlaceOp,
                                           /*legality_check_only=*/true))
    return false;
  if (consumer->opcode() != HloOpcode::kFusion) return true;
  if (producer->opcode() == HloOpcode::kReduce && count_reduces(*consumer) > 5) return false;
  if (consumer->IsMultiOutputFusion()) return false;
  // Not a profitability rule: without it code grows exponentially. Evaluated from scratch: the pass's own cache misses
  // changes made by multi-output fusion.
  return !FusionNodeIndexingEvaluation(consumer).CodeDuplicationTooHigh(producer);
}

FusionDecision CpuInstructionFusion::ShouldFuse(HloInstruction* consumer, int64_t operand_index) {
  using namespace hone::xla_side;
  using Fn = FusionDecision (*)(CpuInstructionFusion*, HloInstruction*, int64_t);
  static Fn fn = original<Fn>(kFusion, "_ZN3xla3cpu20CpuInstructionFusion10ShouldFuseEPNS_14HloInstructionEl");
  ++state(kFusion).calls;
  SeamTable& table = seam_table();
  EdgeAnswers* answers = table.answers;
  const bool asked = table.record_edges || table.forbid_duplication || !table.fusion.empty() || answers != nullptr;
  const bool barrier = has_barrier(*consumer->operand(operand_index));
  if (!asked || !state(kFusion).on) {
    FusionDecision decision = fn(this, consumer, operand_index);
    return barrier && state(kFusion).on ? FusionDecision::Forbid("barrier") : decision;
  }
  tag_once(consumer->GetModule());
  static std::string key;  // static: reuses its memory over thousands of calls per program
  key = tag_of(consumer->operand(operand_index));
  key += '>';
  key += tag_of(consumer);
  const auto it = table.fusion.find(key);
  // Called even where the answer is decided: XLA's check caches which operands a consumer reuses at the first call, and
  // later results depend on that. So the course of the pass depends only on the answers (see EdgeAnswers).
  const bool by_default = fn(this, consumer, operand_index).CanFuse();
  const bool duplicates = table.forbid_duplication && consumer->operand(operand_index)->user_count() > 1 &&
                          consumer->operand(operand_index)->opcode() != HloOpcode::kConstant;
  const bool apart = duplicates || barrier;
  bool fuse = by_default && !apart;
  if (it != table.fusion.end()) {
    it->second.met = true;
    fuse = it->second.fuse && (by_default || legal_to_fuse(this, consumer, operand_index));
  }
  if (table.record_edges && (by_default || legal_to_fuse(this, consumer, operand_index)))
    table.edges.push_back({key, by_default});
  if (answers) {
    const bool undecided = by_default && !apart;
    (*answers)[key] |= (fuse ? kFused : kKept) | (undecided ? kFusedByDefault : kKeptByDefault);
  }
  return fuse ? FusionDecision::Allow() : FusionDecision::Forbid("decided");
}

// Called at the start of the fusion pass.
void CpuInstructionFusion::ComputeInstructionsToSkip(HloModule* module,
                                                     const absl::flat_hash_set<absl::string_view>& threads) {
  using namespace hone::xla_side;
  using Fn = void (*)(CpuInstructionFusion*, HloModule*, const absl::flat_hash_set<absl::string_view>&);
  static Fn fn = original<Fn>(
      kFusionStart,
      "_ZN3xla3cpu20CpuInstructionFusion25ComputeInstructionsToSkipEPNS_9HloModuleERKN4absl12lts_2025081413flat_hash_"
      "setISt17basic_string_viewIcSt11char_traitsIcEENS5_18container_internal10StringHashENSB_8StringEqESaISA_EEE");
  ++state(kFusionStart).calls;
  if (seam_table().snapshot != nullptr && state(kFusionStart).on) *seam_table().snapshot = module->Clone("");
  fn(this, module, threads);
}

static absl::Status constrain_operand(CpuLayoutAssignment* self, LayoutAssignment::LayoutConstraints* constraints,
                                      const HloInstruction* op, int64_t number, const std::vector<int64_t>& axes) {
  Shape shape = op->operand(number)->shape();
  if (axes.size() != shape.dimensions().size())
    return absl::InvalidArgumentError(absl::StrCat("a layout of ", op->name(), " has the wrong number of axes"));
  *shape.mutable_layout() = LayoutUtil::MakeLayout(axes);
  auto* known = const_cast<OperandLayoutConstraint*>(constraints->GetOperandLayoutConstraint(op, number));
  if (known == nullptr) return self->SetOperandLayout(shape, op, number);
  // XLA rejects constraints that contradict its backend's, so the backend's own is changed before propagation.
  known->shape_layout_[0] = ShapeLayout(shape);
  return absl::OkStatus();
}

static absl::Status constrain_result(CpuLayoutAssignment* self, const HloInstruction* op,
                                     const std::vector<int64_t>& axes) {
  Shape shape = op->shape();
  if (axes.size() != shape.dimensions().size())
    return absl::InvalidArgumentError(absl::StrCat("a layout of ", op->name(), " has the wrong number of axes"));
  *shape.mutable_layout() = LayoutUtil::MakeLayout(axes);
  auto buffer = self->points_to_analysis().GetBufferDefinedAt(op, {});
  if (!buffer.ok()) return buffer.status();
  auto* known = const_cast<BufferLayoutConstraint*>(self->GetBufferLayoutConstraint(**buffer));
  if (known == nullptr) return self->SetInstructionLayout(shape, op);
  known->layout_[0] = shape.layout();
  return absl::OkStatus();
}

// The first half of XLA's passes, layout assignment at its end.
absl::Status CpuCompiler::RunHloPassesThroughLayoutAssn(HloModule* module, bool is_aot_compile,
                                                        TargetMachineFeatures* target_machine_features) {
  using namespace hone::xla_side;
  using Fn = absl::Status (*)(CpuCompiler*, HloModule*, bool, TargetMachineFeatures*);
  static Fn fn = original<Fn>(kLayoutPasses,
                              "_ZN3xla3cpu11CpuCompiler29RunHloPassesThroughLayoutAssnEPNS_9HloModuleEbPNS0_"
                              "21TargetMachineFeaturesE");
  ++state(kLayoutPasses).calls;
  if (seam_table().has_layouts) return absl::OkStatus();
  absl::Status status = fn(this, module, is_aot_compile, target_machine_features);
  if (status.ok() && seam_table().with_layouts != nullptr && state(kLayoutPasses).on)
    *seam_table().with_layouts = {copy_to_resume(*module), seam_table().reductions};
  return status;
}

// Called once per computation and round of layout assignment, before constraints are propagated.
absl::Status CpuLayoutAssignment::AddBackendConstraints(LayoutConstraints* constraints) {
  using namespace hone::xla_side;
  using Fn = absl::Status (*)(CpuLayoutAssignment*, LayoutConstraints*);
  static Fn fn = original<Fn>(
      kLayout, "_ZN3xla3cpu19CpuLayoutAssignment21AddBackendConstraintsEPNS_16LayoutAssignment17LayoutConstraintsE");
  ++state(kLayout).calls;
  record_layout_listing(*constraints->computation()->parent());
  absl::Status status = fn(this, constraints);
  LayoutTable& table = layout_table();
  if (table.decided.empty() || !state(kLayout).on) return status;
  for (const HloInstruction* op : constraints->computation()->MakeInstructionPostOrder()) {
    const auto it = table.decided.find(std::string(op->name()));
    if (it == table.decided.end()) continue;
    table.met.insert(it->first);
    const hone::LayoutChoice& choice = it->second;
    if (status.ok() && !choice.input.empty() && op->operand_count() > 0)
      status = constrain_operand(this, constraints, op, 0, choice.input);
    if (status.ok() && !choice.kernel.empty() && op->operand_count() > 1)
      status = constrain_operand(this, constraints, op, 1, choice.kernel);
    if (status.ok() && !choice.output.empty()) status = constrain_result(this, op, choice.output);
  }
  return status;
}

}  // namespace xla::cpu
