// Where XLA asks which library runs a dot, a convolution or a reduction, and makes YNNPACK's part of it. Interposed as in
// seams.cc, for which seams.h says how.
#include "decisions/seam_original.h"
#include "decisions/seam_table.h"
#include "xla/backends/cpu/runtime/ynnpack/ynn_fusion_thunk.h"
#include "xla/backends/cpu/ynn_emitter.h"
#include "xla/backends/cpu/ynn_support.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/service/cpu/dot_op_emitter.h"
#include "xla/shape_util.h"

namespace xla::cpu {

using hone::xla_side::seam_table;

// Which library runs a dot. Called per dot when its code is emitted.
DotImplementationStrategy GetDotImplementationStrategy(const HloModuleConfig& config, const HloInstruction& dot,
                                                       const TargetMachineFeatures& features, bool allow_runtime) {
  using namespace hone::xla_side;
  using Fn =
      DotImplementationStrategy (*)(const HloModuleConfig&, const HloInstruction&, const TargetMachineFeatures&, bool);
  static Fn fn = original<Fn>(kDotStrategy,
                              "_ZN3xla3cpu28GetDotImplementationStrategyERKNS_15HloModuleConfigERKNS_14HloInstructionER"
                              "KNS0_21TargetMachineFeaturesEb");
  ++state(kDotStrategy).calls;
  auto library = attribute(dot, kLibraryAttribute);
  if (!library || !state(kDotStrategy).on) return fn(config, dot, features, allow_runtime);
  if (*library == "naive") return DotImplementationStrategy::kNaiveLlvmIr;
  if (*library == "llvm") return DotImplementationStrategy::kTiledLlvmIrGemm;
  if (*library == "eigen") return DotImplementationStrategy::kEigen;
  return fn(config, dot, features, allow_runtime);
}

absl::StatusOr<bool> IsDotSupportedByYnn(const HloInstruction* dot) {
  using namespace hone::xla_side;
  using Fn = absl::StatusOr<bool> (*)(const HloInstruction*);
  static Fn fn = original<Fn>(kDotYnn, "_ZN3xla3cpu19IsDotSupportedByYnnEPKNS_14HloInstructionE");
  ++state(kDotYnn).calls;
  if (attribute(*dot, kLibraryAttribute) && state(kDotYnn).on) return false;
  return fn(dot);
}

absl::StatusOr<bool> IsDotSupportedByYnn(const DotDimensionNumbers& numbers, const Shape& lhs, const Shape& rhs,
                                         const Shape& out) {
  using namespace hone::xla_side;
  using Fn = absl::StatusOr<bool> (*)(const DotDimensionNumbers&, const Shape&, const Shape&, const Shape&);
  static Fn fn =
      original<Fn>(kDotYnnShape, "_ZN3xla3cpu19IsDotSupportedByYnnERKNS_19DotDimensionNumbersERKNS_5ShapeES6_S6_");
  ++state(kDotYnnShape).calls;
  if (state(kDotYnnShape).on && seam_table().dot_library.count(dot_shape_key(numbers, lhs, rhs))) return false;
  return fn(numbers, lhs, rhs, out);
}

bool IsConvolutionOpSupportedByYnn(const HloInstruction* convolution) {
  using namespace hone::xla_side;
  using Fn = bool (*)(const HloInstruction*);
  static Fn fn = original<Fn>(kConvYnn, "_ZN3xla3cpu29IsConvolutionOpSupportedByYnnEPKNS_14HloInstructionE");
  ++state(kConvYnn).calls;
  if (attribute(*convolution, kLibraryAttribute) && state(kConvYnn).on) return false;
  return fn(convolution);
}

// Called by the library rewriter if reductions are among YNNPACK's fusion types.
bool IsReduceOpOffloadedToYnn(const HloInstruction* reduce) {
  using namespace hone::xla_side;
  using Fn = bool (*)(const HloInstruction*);
  static Fn fn = original<Fn>(kReduceYnn, "_ZN3xla3cpu24IsReduceOpOffloadedToYnnEPKNS_14HloInstructionE");
  ++state(kReduceYnn).calls;
  if (!state(kReduceYnn).on || !IsReduceOpSupportedByYnn(reduce)) return fn(reduce);
  SeamTable& table = seam_table();
  const std::string key = reduce_key(*reduce);
  Reduction& known = table.reductions[key];
  known.default_ynn |= fn(reduce);
  known.bytes = ShapeUtil::ByteSizeOf(reduce->operand(0)->shape());
  if (table.reduce_ynn.empty()) return fn(reduce);
  const auto decided = table.reduce_ynn.find(key);
  return decided == table.reduce_ynn.end() ? table.reduce_ynn_default && fn(reduce) : decided->second;
}

// A dot whose second matrix keeps its value and its place between runs, and that YNNPACK is to pack.
static bool packs_rhs(const HloInstruction* hlo, absl::Span<const YnnFusionThunk::Argument> arguments) {
  const auto& table = seam_table();
  if (hlo == nullptr || hlo->opcode() != HloOpcode::kDot || arguments.size() != 2) return false;
  const BufferAllocation* buffer = arguments[1].slice.allocation();
  return buffer->is_entry_computation_parameter() && table.packed.contains(buffer->parameter_number()) &&
         !hlo->GetModule()->input_output_alias_config().ParameterHasAlias(buffer->parameter_number(), {});
}

// Called for each dot and fusion that YNNPACK runs, when its code is emitted. XLA can have weights packed once but never does.
absl::StatusOr<std::unique_ptr<YnnFusionThunk>> YnnFusionThunk::Create(
    Options options, Info info, const HloInstruction* hlo, std::vector<Argument> arguments, std::vector<Result> results,
    CapturingBuilder builder, absl::Span<const int64_t> captured) {
  using namespace hone::xla_side;
  using Fn = absl::StatusOr<std::unique_ptr<YnnFusionThunk>> (*)(Options, Info, const HloInstruction*,
                                                                 std::vector<Argument>, std::vector<Result>,
                                                                 CapturingBuilder, absl::Span<const int64_t>);
  static Fn fn = original<Fn>(
      kYnnThunk,
      "_ZN3xla3cpu14YnnFusionThunk6CreateENS1_7OptionsENS0_5Thunk4InfoEPKNS_14HloInstructionESt6vectorINS1_"
      "8ArgumentESaIS9_EES8_INS1_6ResultESaISC_EEN4absl12lts_2025081412AnyInvocableIFNSG_8StatusOrISt10unique_"
      "ptrI12ynn_subgraphNS0_8internal10YnnDeleterEEEENSG_4SpanIKS9_EENSP_IKSC_EENSP_IKN15stream_"
      "executor17DeviceAddressBaseEEEEEENSP_IKlEE");
  ++state(kYnnThunk).calls;
  static constexpr int64_t kRhs[] = {1};
  if (state(kYnnThunk).on && packs_rhs(hlo, arguments)) {
    auto packing = EmitYnnDotBuilder(Cast<HloDotInstruction>(hlo), /*capture_rhs=*/true);
    if (!packing.ok()) return packing.status();
    builder = [build = *std::move(packing)](absl::Span<const Argument>, absl::Span<const Result>,
                                            absl::Span<const se::DeviceAddressBase> buffers) mutable {
      return build(buffers);
    };
    captured = kRhs;
  }
  return fn(options, std::move(info), hlo, std::move(arguments), std::move(results), std::move(builder), captured);
}

}  // namespace xla::cpu
