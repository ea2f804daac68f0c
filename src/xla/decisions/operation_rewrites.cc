#include "decisions/operation_rewrites.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "decisions/arg_reduction.h"
#include "decisions/attention.h"
#include "decisions/attention_blocks.h"
#include "decisions/conv_pool_expander.h"
#include "decisions/cumulative_sums.h"
#include "decisions/dnnl_calls.h"
#include "decisions/half_dot.h"
#include "decisions/onednn_convolution.h"
#include "decisions/pooling_gradient.h"
#include "decisions/powers.h"
#include "decisions/recurrence.h"
#include "decisions/shifted_convolution.h"
#include "decisions/short_loops.h"
#include "decisions/sine.h"
#include "decisions/small_dots.h"
#include "decisions/sorts.h"
#include "decisions/split_convolution.h"
#include "decisions/whole_sums.h"
#include "decisions/window_slices.h"
#include "decisions/winograd.h"
#include "decisions/winograd_forms.h"
#include "decisions/winograd_gradient.h"
#include "graph/decision_family.h"
#include "graph/winograd_form.h"
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

std::string summed_key(const HloInstruction& op) { return ShapeUtil::HumanString(op.operand(0)->shape()); }

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
  const xla::Shape& right = op.operand(1)->shape();
  const std::string shapes = reads_bytes(op)
                                 ? absl::StrCat(ShapeUtil::HumanString(op.operand(0)->shape()), "*",
                                                ShapeUtil::HumanString(ShapeUtil::ChangeElementType(right, xla::S8)),
                                                "->", ShapeUtil::HumanString(op.shape()))
                                 : shapes_of(op);
  return absl::StrCat(shapes, ":", xla::DotDimensionNumbersToString(op.dot_dimension_numbers()));
}

HloInstruction* shifted(HloInstruction* op, const std::string& value) {
  if (value != kShifted) throw Error("no rewrite '" + value + "' of this operation", std::string(op->name()), kShifted);
  return op->opcode() == HloOpcode::kConvolution ? shifted_convolution(op) : shifted_pooling(op);
}

std::vector<std::string> forms_of_dense(const HloInstruction& op) {
  std::vector<std::string> forms = gradient_forms(op);
  if (forms.empty()) forms = winograd_forms(op);
  if (forms.empty()) forms = split_forms(op);
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
  if (value == kOneDnn) return onednn_convolution(op);
  const std::optional<WinogradForm> form = WinogradForm::parse(value);
  if (form && form->use == WinogradUse::Split && has_split(*op, form->tile)) return split_convolution(op, *form);
  if (form && form->use == WinogradUse::Gradient && has_gradient(*op, form->tile)) return winograd_gradient(op, *form);
  return winograd_convolution(op, value);
}

HloInstruction* grouped_convolution(HloInstruction* op, const std::string& value) {
  return value == kOneDnn ? onednn_convolution(op) : shifted(op, value);
}

std::vector<std::string> forms_of_attention(const HloInstruction& op) {
  std::vector<std::string> forms = only<is_attention, kLateDivision>(op);
  if (is_attention_in_blocks(op)) forms.insert(forms.begin(), kBlocks);
  return forms;
}

HloInstruction* attention(HloInstruction* op, const std::string& value) {
  return value == kBlocks ? attention_in_blocks(op) : late_division(op);
}

constexpr RewriteRow kRewrites[] = {
    {FamilyId::WeightsGradient, only<is_expandable_gradient, kShifted>, gradient_key, expanded_operations, shifted},
    {FamilyId::GroupedConvolution, forms_of_grouped, grouped_key, expanded_operations, grouped_convolution},
    {FamilyId::DenseConvolution, forms_of_dense, convolution_key, convolution_flops, dense_convolution},
    {FamilyId::CumulativeSum, only<is_cumulative_sum, kOnePass>, cumulative_key, elements_read,
     without_value<one_pass_sum>},
    {FamilyId::WholeSum, only<is_whole_sum, kVectorSums>, summed_key, elements_read, without_value<sum_by_vectors>},
    {FamilyId::Pooling, only<is_expandable_pooling, kShifted>, pooling_key, expanded_operations, shifted},
    {FamilyId::PoolingGradient, only<is_expandable_scatter, kShifted>, scatter_key,
     [](const HloInstruction& op) { return elements_read(op) * window_positions(op.window()); },
     without_value<shifted_scatter>},
    {FamilyId::ArgReduction, only<is_arg_reduction, kTwoReductions>, arg_key, elements_read,
     without_value<two_reductions>},
    {FamilyId::Sine, only<is_large_sine, kPolynomial>, shape_key, elements_read, without_value<polynomial_sine>},
    {FamilyId::Attention, forms_of_attention, attention_key, half_dot_flops, attention},
    {FamilyId::FloatDot, float_dot_forms, dot_key, half_dot_flops, float_dot},
    {FamilyId::HalfDot, half_dot_forms, dot_key, half_dot_flops, half_dot},
    {FamilyId::SmallDot, small_dot_forms, dot_key, half_dot_flops, small_dot},
    {FamilyId::Sort, only<is_plain_sort, kHighway>, sort_key, elements_read, without_value<highway_sorted>},
    {FamilyId::Power, only<is_large_power, kExponential>, shape_key, elements_read, without_value<exponential_power>},
    {FamilyId::Recurrence, only<is_recurrence, kOneKernel>, recurrence_key, recurrence_operations,
     without_value<recurrence_by_kernel>},
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

// A copy of the program with calls replaced by what they call, as they are before a rewrite; null where there are none. The family of
// an operation may depend on what makes its operands, which JAX writes as functions: masks, softmax.
std::unique_ptr<xla::HloModule> inlined(const xla::HloModule& module) {
  const auto calls = [](const auto* computation) {
    return absl::c_any_of(computation->instructions(), [](const auto* i) { return i->opcode() == HloOpcode::kCall; });
  };
  if (absl::c_none_of(module.computations(), calls)) return nullptr;
  std::unique_ptr<xla::HloModule> copy = module.Clone("");
  check(xla::CallInliner().Run(copy.get()).status(), "rewrite");
  return copy;
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
  const std::unique_ptr<xla::HloModule> copy = inlined(module);
  const xla::HloModule& program = copy ? *copy : module;
  std::map<std::string, RewritableOperation> all;
  for (const auto* computation : program.computations())
    for (const auto* instruction : computation->instructions()) {
      const Found found = rewrite_of(*instruction);
      if (found.row == nullptr) continue;
      RewritableOperation& operation = all[found.key];
      for (const std::string& value : found.values)
        if (!absl::c_linear_search(operation.values, value)) operation.values.push_back(value);
      operation.operations += found.row->operations(*instruction);
      ++operation.count;
      const int behind = instruction->operand_count() > 1 ? parameter_behind(instruction->operand(1)) : -1;
      operation.of_parameters &= behind >= 0;
      operation.parameters.insert(behind);
    }
  return all;
}

namespace {

using DecidedValues = std::map<std::string, std::string>;  // by key

// Attentions of one key may differ in how their scores are made: those that have no form of this value stay as they are.
bool takes(const Found& found, const std::string& value) {
  return found.row->family != FamilyId::Attention || absl::c_linear_search(found.values, value);
}

void check_all_met(const xla::HloModule& module, const DecidedValues& decided) {
  if (decided.empty()) return;
  std::set<std::string> met;
  for (const auto* computation : module.computations())
    for (const auto* instruction : computation->instructions()) {
      const Found found = rewrite_of(*instruction);
      const auto decision = found.row ? decided.find(found.key) : decided.end();
      if (decision != decided.end() && takes(found, decision->second)) met.insert(found.key);
    }
  for (const auto& [key, value] : decided)
    if (!met.contains(key)) throw Error("the program has no such operation to rewrite as '" + value + "'", key);
}

void rewrite_all(xla::HloModule& module, const DecidedValues& decided) {
  if (decided.empty()) return;
  for (auto* computation : module.MakeComputationPostOrder())
    for (auto* instruction : computation->MakeInstructionPostOrder()) {
      const Found found = rewrite_of(*instruction);
      const auto decision = found.row ? decided.find(found.key) : decided.end();
      if (decision == decided.end() || !takes(found, decision->second)) continue;
      HloInstruction* result = found.row->rewritten(instruction, decision->second);
      result->set_metadata(instruction->metadata());
      check(computation->ReplaceInstruction(instruction, result), "rewrite");
    }
}

}  // namespace

void apply_rewrites(xla::HloModule& module, const Decisions& decisions) {
  DecidedValues whole, others;
  for (const Decision& d : decisions)
    if (d.kind == DecisionKind::Rewrite && d.value != kNotRewritten)
      (d.value == kBlocks || d.value == kOneKernel ? whole : others).emplace(d.key, d.value);
  if (whole.empty() && others.empty()) return;
  check(xla::CallInliner().Run(&module).status(), "rewrite");
  check_all_met(module, whole);
  check_all_met(module, others);
  // Attention in blocks and loops by one kernel take the dots in them with them, which may have been decided about, too.
  rewrite_all(module, whole);
  rewrite_all(module, others);
}

namespace {

// Copies an operation and what brings its operands into shape: libraries read weights that are transposed as they are stored.
class AloneBuilder {
 public:
  AloneBuilder() : entry_("main") {}

  HloInstruction* operand(const HloInstruction& value) {
    const HloOpcode opcode = value.opcode();
    const bool of_bytes = opcode == HloOpcode::kConvert && value.operand(0)->shape().element_type() == xla::S8;
    if (opcode == HloOpcode::kTranspose || opcode == HloOpcode::kReshape || of_bytes) return copy(value);
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
  const std::unique_ptr<xla::HloModule> copy = inlined(module);
  const xla::HloModule& program = copy ? *copy : module;
  for (const auto* computation : program.computations())
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
