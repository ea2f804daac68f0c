#include "decisions/operation_rewrites.h"

#include "absl/strings/str_cat.h"
#include "decisions/arg_reduction.h"
#include "decisions/attention.h"
#include "decisions/conv_pool_expander.h"
#include "decisions/cumulative_sums.h"
#include "decisions/dnnl_calls.h"
#include "decisions/half_dot.h"
#include "decisions/onednn_convolution.h"
#include "decisions/pooling_gradient.h"
#include "decisions/powers.h"
#include "decisions/shifted_convolution.h"
#include "decisions/short_loops.h"
#include "decisions/sine.h"
#include "decisions/small_dots.h"
#include "decisions/sorts.h"
#include "decisions/window_slices.h"
#include "decisions/winograd.h"
#include "decisions/winograd_forms.h"
#include "graph/decision_family.h"
#include "status.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/service/call_inliner.h"
#include "xla/window_util.h"
#include "xla_pch.h"

namespace hone::xla_side {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;
using xla::ShapeUtil;

// What one family of operations may become.
struct RewriteRow {
  FamilyId family;
  std::vector<std::string> (*values)(const HloInstruction&);  // empty where the operation is none of this family
  std::string (*key)(const HloInstruction&);                  // behind the family's prefix
  double (*operations)(const HloInstruction&);
  HloInstruction* (*rewritten)(HloInstruction*, const std::string& value);  // throws Error for other values
};

// Of families with one form.
template <bool (*is_one)(const HloInstruction&), const char* form>
std::vector<std::string> only(const HloInstruction& op) {
  return is_one(op) ? std::vector<std::string>{form} : std::vector<std::string>();
}

template <HloInstruction* (*rewritten)(HloInstruction*)>
HloInstruction* without_value(HloInstruction* op, const std::string&) {
  return rewritten(op);
}

std::string shapes_of(const HloInstruction& op) {
  std::string shapes = ShapeUtil::HumanString(op.operand(0)->shape());
  if (op.opcode() != HloOpcode::kReduceWindow)
    absl::StrAppend(&shapes, "*", ShapeUtil::HumanString(op.operand(1)->shape()));
  return absl::StrCat(shapes, "->", ShapeUtil::HumanString(op.shape()));
}

std::string convolution_key(const HloInstruction& op) {
  return absl::StrCat(shapes_of(op), ":", xla::ConvolutionDimensionNumbersToString(op.convolution_dimension_numbers()),
                      ":", xla::window_util::ToString(op.window()));
}

std::string grouped_key(const HloInstruction& op) {
  return absl::StrCat(convolution_key(op), family(FamilyId::GroupedConvolution).infix, op.feature_group_count());
}

std::string gradient_key(const HloInstruction& op) {
  return absl::StrCat(convolution_key(op), family(FamilyId::WeightsGradient).infix, op.batch_group_count());
}

std::string pooling_key(const HloInstruction& op) {
  return absl::StrCat(xla::HloOpcodeString(op.to_apply()->root_instruction()->opcode()), ":", shapes_of(op), ":",
                      xla::window_util::ToString(op.window()));
}

std::string scatter_key(const HloInstruction& op) {
  return absl::StrCat(shapes_of(op), ":", xla::window_util::ToString(op.window()), ":",
                      xla::ComparisonDirectionToString(op.select()->root_instruction()->comparison_direction()));
}

std::string arg_key(const HloInstruction& op) {
  return absl::StrCat(op.operand(2)->literal().ToStringWithoutShape(), ":",
                      ShapeUtil::HumanString(op.operand(0)->shape()), ":", op.dimensions(0));
}

std::string shape_key(const HloInstruction& op) {
  return absl::StrCat(xla::HloOpcodeString(op.opcode()), ":", ShapeUtil::HumanString(op.shape()));
}

std::string cumulative_key(const HloInstruction& op) {
  return absl::StrCat(ShapeUtil::HumanString(op.shape()), ":", xla::window_util::ToString(op.window()));
}

double elements_of_state(const HloInstruction& op) {
  double elements = 0;
  for (const xla::Shape& shape : op.shape().tuple_shapes())
    elements += static_cast<double>(ShapeUtil::ElementsIn(shape));
  return elements;
}

double elements_read(const HloInstruction& op) {
  return static_cast<double>(ShapeUtil::ElementsIn(op.operand(0)->shape()));
}

std::string dot_key(const HloInstruction& op) {
  return absl::StrCat(shapes_of(op), ":", xla::DotDimensionNumbersToString(op.dot_dimension_numbers()));
}

HloInstruction* shifted(HloInstruction* op, const std::string& value) {
  if (value != kShifted) throw Error("no rewrite '" + value + "' of this operation", std::string(op->name()), kShifted);
  return op->opcode() == HloOpcode::kConvolution ? shifted_convolution(op) : shifted_pooling(op);
}

std::vector<std::string> forms_of_dense(const HloInstruction& op) {
  std::vector<std::string> forms = winograd_forms(op);
  if (op.opcode() == HloOpcode::kConvolution && op.feature_group_count() == 1)
    for (std::string& form : onednn_forms(op)) forms.insert(forms.begin(), std::move(form));
  return forms;
}

std::vector<std::string> forms_of_grouped(const HloInstruction& op) {
  std::vector<std::string> forms = only<is_expandable_convolution, kShifted>(op);
  if (op.opcode() == HloOpcode::kConvolution && op.feature_group_count() > 1)
    for (std::string& form : onednn_forms(op)) forms.push_back(std::move(form));
  return forms;
}

HloInstruction* dense_convolution(HloInstruction* op, const std::string& value) {
  return value == kOneDnn ? onednn_convolution(op) : winograd_convolution(op, value);
}

HloInstruction* grouped_convolution(HloInstruction* op, const std::string& value) {
  return value == kOneDnn ? onednn_convolution(op) : shifted(op, value);
}

constexpr RewriteRow kRewrites[] = {
    {FamilyId::WeightsGradient, only<is_expandable_gradient, kShifted>, gradient_key, expanded_operations, shifted},
    {FamilyId::GroupedConvolution, forms_of_grouped, grouped_key, expanded_operations, grouped_convolution},
    {FamilyId::DenseConvolution, forms_of_dense, convolution_key, convolution_flops, dense_convolution},
    {FamilyId::CumulativeSum, only<is_cumulative_sum, kOnePass>, cumulative_key, elements_read,
     without_value<one_pass_sum>},
    {FamilyId::Pooling, only<is_expandable_pooling, kShifted>, pooling_key, expanded_operations, shifted},
    {FamilyId::PoolingGradient, only<is_expandable_scatter, kShifted>, scatter_key,
     [](const HloInstruction& op) { return elements_read(op) * window_positions(op.window()); },
     without_value<shifted_scatter>},
    {FamilyId::ArgReduction, only<is_arg_reduction, kTwoReductions>, arg_key, elements_read,
     without_value<two_reductions>},
    {FamilyId::Sine, only<is_large_sine, kPolynomial>, shape_key, elements_read, without_value<polynomial_sine>},
    {FamilyId::Attention, only<is_attention, kLateDivision>, attention_key, half_dot_flops,
     without_value<late_division>},
    {FamilyId::FloatDot, float_dot_forms, dot_key, half_dot_flops, float_dot},
    {FamilyId::HalfDot, half_dot_forms, dot_key, half_dot_flops, half_dot},
    {FamilyId::SmallDot, small_dot_forms, dot_key, half_dot_flops, small_dot},
    {FamilyId::Sort, only<is_plain_sort, kHighway>, sort_key, elements_read, without_value<highway_sorted>},
    {FamilyId::Power, only<is_large_power, kExponential>, shape_key, elements_read, without_value<exponential_power>},
    {FamilyId::ShortLoop, only<is_short_loop, kUnrolled>, loop_key, elements_of_state, without_value<unrolled_loop>},
};

struct Found {
  const RewriteRow* row = nullptr;
  std::vector<std::string> values;
  std::string key;
};

Found rewrite_of(const HloInstruction& op) {
  for (const RewriteRow& row : kRewrites)
    if (std::vector<std::string> values = row.values(op); !values.empty())
      return {&row, std::move(values), family(row.family).prefix + row.key(op)};
  return {};
}

// The parameter of the program that a value is another order of, or -1.
int parameter_behind(const HloInstruction* value) {
  for (;; value = value->operand(0)) switch (value->opcode()) {
      case HloOpcode::kTranspose:
      case HloOpcode::kReshape:
      case HloOpcode::kReverse:
      case HloOpcode::kConvert:
      case HloOpcode::kCopy:
        break;
      case HloOpcode::kParameter:
        return value->parent()->IsEntryComputation() ? static_cast<int>(value->parameter_number()) : -1;
      default:
        return -1;
    }
}

}  // namespace

std::map<std::string, RewritableOperation> rewritable_operations(const xla::HloModule& module) {
  std::map<std::string, RewritableOperation> all;
  for (const auto* computation : module.computations())
    for (const auto* instruction : computation->instructions()) {
      Found found = rewrite_of(*instruction);
      if (found.row == nullptr) continue;
      RewritableOperation& operation = all[found.key];
      operation.values = std::move(found.values);
      operation.operations += found.row->operations(*instruction);
      ++operation.count;
      const int behind = instruction->operand_count() > 1 ? parameter_behind(instruction->operand(1)) : -1;
      operation.of_parameters &= behind >= 0;
      operation.parameters.insert(behind);
    }
  return all;
}

void apply_rewrites(xla::HloModule& module, const Decisions& decisions) {
  struct Decided {
    std::string value;
    bool met = false;
  };
  std::map<std::string, Decided> decided;
  for (const Decision& d : decisions)
    if (d.kind == DecisionKind::Rewrite && d.value != kNotRewritten) decided.emplace(d.key, Decided{d.value});
  if (decided.empty()) return;
  // What follows an operation is in view only where it is not called.
  if (std::any_of(decided.begin(), decided.end(), [](const auto& d) { return d.second.value == kOneDnn; }))
    check(xla::CallInliner().Run(&module).status(), "rewrite");
  for (auto* computation : module.MakeComputationPostOrder())
    for (auto* instruction : computation->MakeInstructionPostOrder()) {
      const Found found = rewrite_of(*instruction);
      const auto decision = found.row ? decided.find(found.key) : decided.end();
      if (decision == decided.end()) continue;
      decision->second.met = true;
      HloInstruction* result = found.row->rewritten(instruction, decision->second.value);
      result->set_metadata(instruction->metadata());
      check(computation->ReplaceInstruction(instruction, result), "rewrite");
    }
  for (const auto& [key, decision] : decided)
    if (!decision.met) throw Error("the program has no such operation to rewrite", key);
}

namespace {

// Copies an operation and what brings its operands into shape: libraries read weights that are transposed as they are stored.
class AloneBuilder {
 public:
  AloneBuilder() : entry_("main") {}

  HloInstruction* operand(const HloInstruction& value) {
    const HloOpcode opcode = value.opcode();
    if (opcode == HloOpcode::kTranspose || opcode == HloOpcode::kReshape) return copy(value);
    if (opcode == HloOpcode::kConstant) return entry_.AddInstruction(value.Clone(""));
    return entry_.AddInstruction(
        HloInstruction::CreateParameter(parameters_++, plain(value.shape()), std::string(value.name())));
  }
  HloInstruction* copy(const HloInstruction& op) {
    std::vector<HloInstruction*> operands;
    for (const HloInstruction* value : op.operands()) operands.push_back(operand(*value));
    return entry_.AddInstruction(op.CloneWithNewOperands(plain(op.shape()), operands));
  }
  std::unique_ptr<xla::HloComputation> build() { return entry_.Build(); }

 private:
  // Importers set layouts that hold nowhere in a program of its own.
  static xla::Shape plain(const xla::Shape& shape) {
    return ShapeUtil::MakeShapeWithDescendingLayout(shape.element_type(), shape.dimensions());
  }

  xla::HloComputation::Builder entry_;
  int64_t parameters_ = 0;
};

}  // namespace

AloneModule operation_alone(const xla::HloModule& module, const std::string& key, const std::vector<int>& weights) {
  for (const auto* computation : module.computations())
    for (const auto* instruction : computation->instructions()) {
      if (rewrite_of(*instruction).key != key) continue;
      AloneBuilder builder;
      builder.copy(*instruction);
      auto alone = std::make_unique<xla::HloModule>("operation", module.config());
      const xla::HloComputation* entry = alone->AddEntryComputation(builder.build());
      alone->mutable_config().SetComputationLayoutIfExists(entry->ComputeProgramShape());
      *alone->mutable_entry_computation_layout() = xla::ComputationLayout(entry->ComputeProgramShape());
      const bool steady = instruction->operand_count() > 1 && is_made_of(instruction->operand(1), weights);
      const HloInstruction* root = entry->root_instruction();
      const int behind = steady ? parameter_behind(root->operand(1)) : -1;
      return {std::move(alone), behind < 0 ? std::vector<int>() : std::vector<int>{behind}};
    }
  throw Error("the program has no such operation to rewrite", key);
}

}  // namespace hone::xla_side
